"""Parts of Markdown files."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


CODE = re.compile(r"`([^`\n]+)`")


LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


NEW_FILE = re.compile(r"^\*\*`[^`\n]+`\*\* \(new\):$", re.MULTILINE)
"""The line above the text of a file that a worked example creates."""
