"""Replaces generated sections of pages, which are between two comments."""

from typing import NamedTuple


class GeneratedSection(NamedTuple):
    """The comments around a generated section."""

    begin: str
    end: str

    def put(self, page: str, text: str) -> str:
        """Returns the page with `text` as the content of the section."""
        before, begin, remainder = page.partition(self.begin)
        _, end, after = remainder.partition(self.end)
        assert begin, f"the page must contain {self.begin}"
        assert end, f"the page must contain {self.end}"
        return f"{before}{self.begin}\n{text}\n{self.end}{after}"
