"""Generates the table of rules in policies/README.md."""

from policies.rules import RULES

BEGIN, END = "<!-- rules: written by make docs -->", "<!-- end of rules -->"


def table() -> str:
    """Returns the rules as a table in Markdown, in the order of their files."""
    rows = [
        f"| `{rule.id}` | {rule.severity} | {rule.description} | {rule.source} |".replace("\n", " ")
        for rule in RULES
    ]
    return "\n".join(["| rule | severity | requirement | source |", "|---|---|---|---|", *rows])
