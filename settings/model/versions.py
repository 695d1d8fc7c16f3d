"""GKE versions and their order."""

import math
import re
from typing import NamedTuple, Self

GKE_VERSION = re.compile(r"([0-9]+)\.([0-9]+)(?:\.([0-9]+)(?:-gke\.([0-9]+))?)?")


class GkeVersion(NamedTuple):
    """A version such as 1.36.1-gke.1234000; parts that are left out mean the newest available.

    "1.36" is an alias for the newest 1.36.x-gke.y that GKE offers (GKE API: Cluster.initialClusterVersion),
    so it sorts after all of them.
    """

    major: int
    minor: int
    patch: float = math.inf
    build: float = math.inf

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses a GKE version. Raises ValueError if `text` is not one."""
        match = GKE_VERSION.fullmatch(text)
        if match is None:
            raise ValueError(f"not a GKE version: {text!r}")
        return cls(*(int(part) for part in match.groups() if part is not None))

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}"
        text += "" if self.patch == math.inf else f".{self.patch}"
        return text + ("" if self.build == math.inf else f"-gke.{self.build}")
