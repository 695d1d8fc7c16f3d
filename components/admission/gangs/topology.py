"""Topology annotations of pod templates: refuses annotations that the engine would refuse.

Source: muster/objects/topology.py; Kueue pkg/controller/jobframework/tas_validation.go.
"""

from muster.objects.names import (
    POD_SET_GROUP,
    PREFERRED_TOPOLOGY,
    REQUIRED_TOPOLOGY,
    SLICE_SIZE,
    SLICE_TOPOLOGIES,
    SLICE_TOPOLOGY,
    UNCONSTRAINED_TOPOLOGY,
)

ANNOTATIONS = (
    REQUIRED_TOPOLOGY,
    PREFERRED_TOPOLOGY,
    UNCONSTRAINED_TOPOLOGY,
    SLICE_TOPOLOGY,
    SLICE_SIZE,
    SLICE_TOPOLOGIES,
    POD_SET_GROUP,
)

SIZE = "[1-9][0-9]{0,8}"
# CEL cannot parse JSON, so the accepted form is narrower: these two keys and no escapes.
_FIELD = rf'("topology"\s*:\s*"[^"\\]+"|"size"\s*:\s*{SIZE})'
_CONSTRAINT = rf"\{{\s*{_FIELD}\s*,\s*{_FIELD}\s*\}}"
CONSTRAINTS = rf"^\s*\[\s*{_CONSTRAINT}(\s*,\s*{_CONSTRAINT}){{0,2}}\s*\]\s*$"
LABEL_KEY = r"^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"


def topology_annotations() -> dict[str, str]:
    """Returns the rules for `variables.annotations`, the annotations of each pod template."""
    constrained = f'"{REQUIRED_TOPOLOGY}" in a || "{PREFERRED_TOPOLOGY}" in a'
    rules = {
        f'{constrained} || !("{UNCONSTRAINED_TOPOLOGY}" in a) || '
        f'a["{UNCONSTRAINED_TOPOLOGY}"] in ["true", "false"]': (
            f"the annotation {UNCONSTRAINED_TOPOLOGY} of a pod template must be true or false"
        ),
        _matches(SLICE_SIZE, f"^{SIZE}$"): (
            f"the annotation {SLICE_SIZE} of a pod template must be a number of pods of at least 1"
        ),
        _matches(SLICE_TOPOLOGIES, CONSTRAINTS): (
            f"the annotation {SLICE_TOPOLOGIES} of a pod template must be a JSON list of one to "
            "three objects with the keys topology and size, such as "
            '[{"topology": "cloud.google.com/gce-topology-block", "size": 4}]'
        ),
    }
    for key in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, SLICE_TOPOLOGY):
        rules[_matches(key, LABEL_KEY)] = (
            f"the annotation {key} of a pod template must be a node label that is a level of a Topology, "
            "such as cloud.google.com/gce-topology-block"
        )
    return {f"variables.annotations.all(a, {rule})": message for rule, message in rules.items()}


def _matches(key: str, pattern: str) -> str:
    return f'!("{key}" in a) || a["{key}"].matches(r\'{pattern}\')'
