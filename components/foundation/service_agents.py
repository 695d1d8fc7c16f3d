"""Google's service agents in a project, whose addresses contain the project's number."""

import re

NUMBER = re.compile(r"service-(\d+)@")


def project_number(agent: str) -> str:
    """Returns the number of a project from the address of one of its service agents: a preview without
    credentials cannot read it otherwise."""
    number = NUMBER.match(agent)
    assert number, f"{agent} is service-NUMBER@…"
    return number[1]
