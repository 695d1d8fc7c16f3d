"""Messages of kubelets, runtimes and the scheduler: one line of bounded length without credentials.

`muster serve` shows them to all of its readers, which may not be allowed to read the pods.
"""

import re

LENGTH_MAX = 300
_TAIL = 200  # errors in Go end with their cause
HIDDEN = "[hidden]"

_SECRET = r"[\w-]*(?:passw(?:or)?d|token|secret|credential|key)[\w-]*"
_CREDENTIALS = (
    (re.compile(r"(?<=://)[^/\s@\"']+@"), ""),  # https://user:password@host
    (re.compile(r"(https?://[^\s?\"']+)\?[^\s\"']*"), r"\1"),  # tokens in queries
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{16,}"), rf"\1 {HIDDEN}"),
    (re.compile(rf"(?i)({_SECRET}=[\"']?)[^\s,;\"']+"), rf"\1{HIDDEN}"),  # of the environment
    (re.compile(rf"(?i)([\"']{_SECRET}[\"']:\s*[\"']?)[^\s,;\"']+"), rf"\1{HIDDEN}"),  # of JSON
    (re.compile(rf"(?i)(--{_SECRET}\s+[\"']?)[^\s,;\"']+"), rf"\1{HIDDEN}"),  # of a command line
)
# Wrappers around the cause: of the kubelet, of gRPC, of containerd, and of runc.
_PULL_WRAPPERS = re.compile(
    r"Back-off pulling image \"[^\"]*\"(?:: )?|ErrImagePull: |rpc error: code = \w+ desc = "
    r"|failed to (?:pull and unpack image|resolve reference|resolve image|do request: Head) \"[^\"]*\": "
)
_RUNTIME_WRAPPERS = re.compile(
    r"failed to (?:create containerd|create shim|start containerd) task: |OCI runtime create failed: "
    r"|runc create failed: |unable to start container process: |error during container init: "
)


def one_line(message: str) -> str:
    """Returns the first line of a message, without credentials and its final period; its middle is cut from
    LENGTH_MAX characters on."""
    first = next((line for line in message.splitlines() if line.strip()), "")
    for pattern, replacement in _CREDENTIALS:
        first = pattern.sub(replacement, first)
    text = first.strip().rstrip(". ")
    if len(text) <= LENGTH_MAX:
        return text
    return f"{text[: LENGTH_MAX - _TAIL - 1]}…{text[-_TAIL:]}"


def pull_error(message: str) -> str:
    """Returns why an image cannot be pulled; empty for a message that does not contain the error."""
    return one_line(_PULL_WRAPPERS.sub("", message))


def start_error(message: str) -> str:
    """Returns why the runtime cannot start a container."""
    return one_line(_RUNTIME_WRAPPERS.sub("", message))


def unplaced(message: str) -> str:
    """Returns why no node fits, without the result of the scheduler's own preemption."""
    return one_line(message.partition(". ")[0])
