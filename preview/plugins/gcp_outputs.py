"""Marks outputs that Google computes as unknown in a preview.

The engine does so for missing top-level outputs. An output inside a block that the program declares, such as
the endpoint in `controlPlaneEndpointsConfig`, would be taken as unset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from preview.resources.pretence import NO_HOST
from preview.resources.values import UNKNOWN

CLUSTER = "gcp:container/cluster:Cluster"


def previewed(token: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the declared properties, with unknown values for outputs that Google adds inside them."""
    if token != CLUSTER:
        return dict(properties)
    return _with_addresses(properties, host=UNKNOWN, certificate=UNKNOWN)


def pretended(token: str, name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the properties as of an existing resource: with an id, and host names that never resolve."""
    outputs = {**properties, "id": f"pretended/{name}"}
    if token != CLUSTER:
        return outputs
    return _with_addresses(outputs, host=f"{name}{NO_HOST}", certificate="")


def _with_addresses(properties: Mapping[str, Any], host: str, certificate: str) -> dict[str, Any]:
    endpoints = _mapping(properties.get("controlPlaneEndpointsConfig"))
    dns = {**_mapping(endpoints.get("dnsEndpointConfig")), "endpoint": host}
    return {
        **properties,
        "endpoint": host,
        "masterAuth": {**_mapping(properties.get("masterAuth")), "clusterCaCertificate": certificate},
        "controlPlaneEndpointsConfig": {**endpoints, "dnsEndpointConfig": dns},
    }


def _mapping(value: Any) -> dict[str, Any]:
    """Returns the properties below one; empty if it is unset or unknown."""
    return dict(value) if isinstance(value, Mapping) else {}
