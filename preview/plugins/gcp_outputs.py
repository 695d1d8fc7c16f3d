"""What a preview says of the outputs that Google computes: that they are not known yet.

The engine does so itself for whatever is missing at the top. Inside a block that the program declares, such
as the endpoint in `controlPlaneEndpointsConfig`, missing would mean that there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from preview.plugins.pretence import NO_HOST
from preview.plugins.values import UNKNOWN

CLUSTER = "gcp:container/cluster:Cluster"


def previewed(token: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The declared properties, with what Google will add inside of them."""
    if token != CLUSTER:
        return dict(properties)
    return _with_addresses(properties, host=UNKNOWN, certificate=UNKNOWN)


def pretended(token: str, name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The same in a pretended cloud: with an id, and addresses where nothing answers."""
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
    """The properties below one that may not be set, or not be known."""
    return dict(value) if isinstance(value, Mapping) else {}
