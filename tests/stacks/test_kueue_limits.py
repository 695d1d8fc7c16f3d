"""Limits, words and names of settings, and those in the CRDs of the pinned Kueue."""

import re
from functools import cache
from typing import Any, Literal, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from settings.model.base import DnsLabel, DnsSubdomain
from settings.model.pools.values import LabelKey
from settings.model.queues import queue
from settings.rules.kueue_schema import LIMITS
from settings.rules.placement import LEVELS_MAX
from tools.toolchain.crds import ensure_crds

CHECKS = "admissionChecksStrategy.admissionChecks"


@cache
def spec(plural: str) -> dict[str, Any]:
    """Returns the schema of the newest version's spec."""
    text = (ensure_crds("kueue") / f"kueue.x-k8s.io_{plural}.yaml").read_text()
    (stored,) = [version for version in yaml.safe_load(text)["spec"]["versions"] if version["storage"]]
    schema: dict[str, Any] = stored["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    return schema


def below(plural: str, path: str) -> dict[str, Any]:
    """Returns the schema at a path below the spec; `[]` descends into a list."""
    here: Any = {"properties": spec(plural)}
    for key in path.split("."):
        here = here["properties"][key.removesuffix("[]")]
        here = here["items"] if key.endswith("[]") else here
    assert isinstance(here, dict)
    return here


def test_limits_of_the_rules_are_those_of_the_crds() -> None:
    for kind in ("clusterqueues", "cohorts"):
        groups = spec(kind)["resourceGroups"]
        assert groups["maxItems"] == LIMITS["resource_groups"]
        assert groups["items"]["properties"]["flavors"]["maxItems"] == LIMITS["flavors_in_group"]
    assert spec("resourceflavors")["nodeLabels"]["maxProperties"] == LIMITS["node_labels"]
    checks = below("clusterqueues", CHECKS)
    assert checks["maxItems"] == LIMITS["checks_of_queue"]
    assert checks["items"]["properties"]["onFlavors"]["maxItems"] == LIMITS["flavors_of_check"]
    assert spec("topologies")["levels"]["maxItems"] == LEVELS_MAX


# Model and key -> the path of the property in a ClusterQueue's spec.
WORDS: dict[tuple[type[BaseModel], str], str] = {
    (queue.ClusterQueue, "strategy"): "queueingStrategy",
    (queue.ClusterQueue, "stop"): "stopPolicy",
    (queue.Preemption, "within_cluster_queue"): "preemption.withinClusterQueue",
    (queue.Preemption, "reclaim_within_cohort"): "preemption.reclaimWithinCohort",
    (queue.BorrowWithinCohort, "policy"): "preemption.borrowWithinCohort.policy",
    (queue.FlavorFungibility, "when_can_borrow"): "flavorFungibility.whenCanBorrow",
    (queue.FlavorFungibility, "when_can_preempt"): "flavorFungibility.whenCanPreempt",
    (queue.FlavorFungibility, "preference"): "flavorFungibility.preference",
}


def literals(annotation: Any) -> set[str]:
    """Returns the words of a Literal, also of an optional one."""
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    return {word for part in get_args(annotation) for word in literals(part)}


@pytest.mark.parametrize(("model", "key"), list(WORDS), ids=lambda part: getattr(part, "__name__", part))
def test_words_of_queues_are_kueues(model: type[BaseModel], key: str) -> None:
    schema = below("clusterqueues", WORDS[model, key])
    assert literals(model.model_fields[key].annotation) == set(schema["enum"])


# A setting's type -> kinds and paths of the names that it becomes.
NAMES: list[tuple[str, Any, str, str]] = [
    ("flavors", DnsSubdomain, "clusterqueues", "resourceGroups[].flavors[].name"),
    (
        "flavors of checks",
        DnsSubdomain,
        "clusterqueues",
        f"{CHECKS}[].onFlavors[]",
    ),
    ("cohorts", DnsSubdomain, "clusterqueues", "cohortName"),
    ("parents", DnsSubdomain, "cohorts", "parentName"),
    ("queues", DnsSubdomain, "localqueues", "clusterQueue"),
    ("topologies", DnsSubdomain, "resourceflavors", "topologyName"),
    ("levels", LabelKey, "topologies", "levels[].nodeLabel"),
    ("API groups of checks", DnsSubdomain, "admissionchecks", "parameters.apiGroup"),
    ("kinds of checks", queue.Kind, "admissionchecks", "parameters.kind"),
    ("parameters of checks", DnsLabel, "admissionchecks", "parameters.name"),
    ("controllers of checks", queue.Controller, "admissionchecks", "controllerName"),
]
SAMPLES = [
    *("a", "A", "Budget", "gpu-1", "a.b", "a-.b", "-a", "a-", "a_b", "ä", "", "a/b", "example.com/a_b.c"),
    *(text * count for text in ("a", "K") for count in (63, 64, 253, 254, 316, 317)),
    f"{'a.' * 126}a",
    f"{'a' * 63}.{'b' * 63}/{'c' * 63}",
    f"example.com/{'c' * 241}",
    f"example.com/{'c' * 242}",
]


@pytest.mark.parametrize(("of", "setting", "plural", "path"), NAMES, ids=[name for name, *_ in NAMES])
def test_names_that_settings_accept_are_kueues(of: str, setting: Any, plural: str, path: str) -> None:
    schema = below(plural, path)
    pattern = re.sub(r"^\^\(\?i\)", "(?i)^", schema.get("pattern", ""))
    accepted = [name for name in SAMPLES if _accepts(setting, name)]

    assert accepted
    for name in accepted:
        assert re.search(pattern, name), name
        assert len(name) <= schema.get("maxLength", len(name)), name


def _accepts(setting: Any, name: str) -> bool:
    try:
        TypeAdapter(setting).validate_python(name)
    except ValidationError:
        return False
    return True
