"""The address that a server of a process listens on."""

from typing import NamedTuple


class Address(NamedTuple):
    """A host and port; an empty host means all interfaces."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parses `host:port` or `:port`. Raises: ValueError."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise ValueError(f"expected HOST:PORT or :PORT, such as :8080, not {text!r}")
        return cls(host, int(port))
