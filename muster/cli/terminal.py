"""Escapes text for terminals, so that text from tenants cannot control the terminal of its reader.

Messages, annotations and job statuses may contain any character. kubectl prints escape characters in tables
as `^[` (k8s.io/cli-runtime pkg/printers, WriteEscaped).
"""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and line feed
_CARET = 0x40  # ^@ is 0x00, ^[ is 0x1b, ^? is 0x7f


def visible(text: str) -> str:
    """Returns the text with its control characters in caret notation; C1 ones, from 0x80, as <9b>."""
    return _CONTROL.sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"^{chr(code ^ _CARET)}" if code < 0x80 else f"<{code:02x}>"
