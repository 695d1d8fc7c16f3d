"""Declares the resources of its configuration: a JSON list of type, name, properties, and whether protected.

A property `id of <name>` becomes the id of a resource before it, which is not known before `up`.
"""

import json
from typing import Any

import pulumi

config = pulumi.Config()
resources: dict[str, pulumi.CustomResource] = {}


class Anything(pulumi.CustomResource):
    """A resource of any type with any properties: loading the providers' SDKs would take seconds."""


def filled(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("id of "):
        return resources[value.removeprefix("id of ")].id
    return value


def header(type: str) -> dict[str, str]:
    """Returns what the Kubernetes SDK adds to an object of `kubernetes:apps/v1:Deployment`."""
    package, api, kind = type.split(":")
    is_object = package == "kubernetes" and not api.startswith("helm.sh")
    return {"apiVersion": api.removeprefix("core/"), "kind": kind} if is_object else {}


for each in json.loads(config.require("resources")):
    properties = {**header(each["type"]), **each["properties"]}
    properties = {key: filled(value) for key, value in properties.items()}
    options = pulumi.ResourceOptions(protect=each["protect"])
    resources[each["name"]] = Anything(each["type"], each["name"], properties, options)
