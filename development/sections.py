"""Generated sections of pages, between two comments."""

from typing import NamedTuple


class Section(NamedTuple):
    """The comments around a generated section."""

    begin: str
    end: str

    def put(self, page: str, text: str) -> str:
        """Returns the page with `text` as the section's content."""
        before, found, rest = page.partition(self.begin)
        _, ended, after = rest.partition(self.end)
        assert found, f"the page must have {self.begin}"
        assert ended, f"the page must have {self.end}"
        return f"{before}{self.begin}\n{text}\n{self.end}{after}"
