"""Google's service agents in a project, whose addresses contain the project's number."""

import re

import pulumi_gcp as gcp

from components.base import Component

NUMBER = re.compile(r"service-(\d+)@")


def service_agent(
    owner: Component, name: str, project: str, service: str = "container"
) -> gcp.projects.ServiceIdentity:
    """Declares, below `owner`, the agent of a service in the project; `service` is its API without
    `.googleapis.com`."""
    return gcp.projects.ServiceIdentity(
        owner.named(name), project=project, service=f"{service}.googleapis.com", opts=owner.child()
    )


def project_number(agent: str) -> str:
    """Returns the number of a project from the address of one of its service agents: a preview without
    credentials cannot read it otherwise."""
    number = NUMBER.match(agent)
    assert number, f"{agent} is service-NUMBER@…"
    return number[1]
