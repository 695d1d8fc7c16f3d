"""Words and bounds of settings agree with GKE's API description and the ComputeClass API.

The description (container v1beta1, gkebackup v1) is part of the locked google-api-python-client, so an
upgrade of it shows words that settings do not have yet.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

import pytest

# The client ships no types.
from googleapiclient.discovery_cache import get_static_doc  # type: ignore[import-untyped]
from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from components.foundation.node_config import DRIVER_VERSIONS, SHARING_STRATEGIES
from components.foundation.node_system import MEMORY_POLICIES
from preview.plugins.gke_document import schemas
from settings.facts.tables import table
from settings.model.base import Model
from settings.model.foundation.backup import Backup
from settings.model.foundation.cluster import Gke
from settings.model.foundation.dns import Dns
from settings.model.foundation.maintenance import Exclusion
from settings.model.pools.gpus import Gpu, Sharing
from settings.model.pools.node_system import Kubelet, sysctl_range
from settings.model.pools.parts import Upgrade
from settings.model.pools.pool import Pool
from settings.rules.tags import MOST_TAGS
from tools.toolchain.paths import CHECKOUT

CLASS_SCHEMA = CHECKOUT / "tests" / "unit" / "components" / "compute_class_schema.json"
CITED = re.compile(r"(?<!for )GKE API:\s+([A-Z]\w+)(?:\.(\w+))?")


def models(above: type[Model] = Model) -> Iterator[type[Model]]:
    for model in above.__subclasses__():
        yield model
        yield from models(model)


def citations() -> Iterator[tuple[str, str, str]]:
    """Yields the messages and properties of GKE's API that descriptions of settings name."""
    for model in models():
        texts = {"": model.__doc__ or "", **{k: f.description or "" for k, f in model.model_fields.items()}}
        for name, text in texts.items():
            for message, key in CITED.findall(text):
                yield f"{model.__name__}.{name}", message, key


@pytest.mark.parametrize(("setting", "message", "key"), sorted(set(citations())), ids=str)
def test_sources_in_descriptions_exist(setting: str, message: str, key: str) -> None:
    assert message in schemas()
    assert not key or key in schemas()[message]["properties"]


def literals(annotation: Any) -> tuple[str, ...]:
    """Returns the words of a Literal, also of an optional one or in a tuple."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(word for part in get_args(annotation) for word in literals(part))


def words(model: type[BaseModel], name: str) -> set[str]:
    return set(literals(model.model_fields[name].annotation))


def upper(words: Iterable[str], suffix: str = "") -> dict[str, str]:
    return {word: f"{word.upper().replace('-', '_')}{suffix}" for word in words}


# Model and key -> the API's word for each, the message and property, and the words that settings leave out.
WORDS: dict[tuple[type[BaseModel], str], tuple[Mapping[str, str], str, set[str]]] = {
    (Gke, "channel"): (upper(words(Gke, "channel")), "ReleaseChannel.channel", set()),
    (Gke, "logs"): (
        upper(words(Gke, "logs")),
        "LoggingComponentConfig.enableComponents",
        {"SYSTEM_COMPONENTS"},  # always collected
    ),
    (Gke, "metrics"): (
        upper(words(Gke, "metrics")),
        "MonitoringComponentConfig.enableComponents",
        {"SYSTEM_COMPONENTS", "WORKLOADS"},  # always collected; replaced by managed Prometheus
    ),
    (Gke, "autoscaling_profile"): (
        upper(words(Gke, "autoscaling_profile")),
        "ClusterAutoscaling.autoscalingProfile",
        set(),
    ),
    (Gke, "anonymous_authentication"): (
        upper(words(Gke, "anonymous_authentication")),
        "AnonymousAuthenticationConfig.mode",
        set(),
    ),
    (Dns, "provider"): (
        upper(words(Dns, "provider")),
        "DNSConfig.clusterDns",
        {"PLATFORM_DEFAULT"},  # if unset
    ),
    (Dns, "scope"): (upper(words(Dns, "scope"), "_SCOPE"), "DNSConfig.clusterDnsScope", set()),
    (Exclusion, "scope"): (upper(words(Exclusion, "scope")), "MaintenanceExclusionOptions.scope", set()),
    (Upgrade, "strategy"): (
        upper(words(Upgrade, "strategy")),
        "UpgradeSettings.strategy",
        {"SHORT_LIVED"},  # GKE chooses it for queued and flex-start pools
    ),
    (Gpu, "driver"): (
        DRIVER_VERSIONS,
        "GPUDriverInstallationConfig.gpuDriverVersion",
        {"SPECIFIC"},  # the pinned provider has no property for the version (docs/limitations.md)
    ),
    (Sharing, "strategy"): (SHARING_STRATEGIES, "GPUSharingConfig.gpuSharingStrategy", set()),
    (Pool, "confidential_nodes"): (
        upper(words(Pool, "confidential_nodes")),
        "ConfidentialNodes.confidentialInstanceType",
        set(),
    ),
    # The others are networks of pools, without a word in the API.
    (Pool, "gpudirect"): ({"rdma": "RDMA"}, "GPUDirectConfig.gpuDirectStrategy", set()),
}


@pytest.mark.parametrize(("model", "key"), list(WORDS), ids=lambda part: getattr(part, "__name__", part))
def test_words_are_those_of_gkes_api(model: type[BaseModel], key: str) -> None:
    translated, place, left_out = WORDS[model, key]
    message, _, name = place.partition(".")
    behind = schemas()[message]["properties"][name]
    offered = {word for word in behind.get("items", behind)["enum"] if "UNSPECIFIED" not in word}

    assert set(translated) <= words(model, key)
    assert set(translated.values()) | left_out == offered - {"UNSPECIFIED", "NONE"}


def spec_of_class(*path: str) -> Any:
    """Returns the schema below a priority of a ComputeClass."""
    here = json.loads(CLASS_SCHEMA.read_text())["spec"]["properties"]["priorities"]["items"]
    for key in path:
        here = here["properties"][key]
    return here


KUBELET = {
    "cpu_manager_policy": ({}, ("cpuManagerPolicy",)),
    "memory_manager_policy": (MEMORY_POLICIES, ("memoryManager", "policy")),
    "topology_manager_policy": ({}, ("topologyManager", "policy")),
    "topology_manager_scope": ({}, ("topologyManager", "scope")),
}


@pytest.mark.parametrize("key", list(KUBELET))
def test_words_of_the_kubelet_are_those_of_compute_classes(key: str) -> None:
    translated, path = KUBELET[key]
    schema = spec_of_class("nodeSystemConfig", "kubeletConfig", *path)

    assert {translated.get(word, word) for word in words(Kubelet, key)} == set(schema["enum"])


def test_confidential_technologies_have_machine_types() -> None:
    assert set(table("confidential_nodes").facts) == words(Pool, "confidential_nodes")


def backup_schemas() -> Any:
    return json.loads(get_static_doc("gkebackup", "v1"))["schemas"]


def described(schema: Mapping[str, Any], place: str) -> str:
    message, _, key = place.partition(".")
    return str(schema[message]["properties"][key]["description"])


def bounds(model: type[BaseModel], key: str) -> tuple[int, int]:
    """Returns the least and the greatest value of a setting."""
    schema = model.model_json_schema()["properties"][to_camel(key)]
    (number,) = [kind for kind in schema.get("anyOf", [schema]) if kind["type"] == "integer"]
    return number["minimum"], number["maximum"]


# Model and key -> the API's sentence about its bounds.
BOUNDS: dict[tuple[type[BaseModel], str], tuple[str, str]] = {
    (Backup, "rpo_minutes"): ("RpoConfig.targetRpoMinutes", "at least {}, i.e., 1 hour, and at most {}"),
    (Backup, "delete_lock_days"): ("RetentionPolicy.backupDeleteLockDays", "between {}-{} (inclusive)"),
}


@pytest.mark.parametrize(("model", "key"), list(BOUNDS), ids=lambda part: getattr(part, "__name__", part))
def test_bounds_are_those_of_the_description(model: type[BaseModel], key: str) -> None:
    place, sentence = BOUNDS[model, key]
    assert sentence.format(*bounds(model, key)) in described(backup_schemas(), place)


def test_backups_are_retained_for_as_long_as_google_allows() -> None:
    least, most = bounds(Backup, "retain_days")
    text = described(backup_schemas(), "RetentionPolicy.backupRetainDays")

    assert least == 1  # 0 keeps backups forever, which a schedule does not allow
    assert f"<= {most}." in text
    assert "<= 360 * target_rpo_minutes / (1440minutes/day)" in text


def test_processes_are_bounded_as_by_gke() -> None:
    least, most = bounds(Kubelet, "pod_pids_limit")
    text = described(schemas(), "NodeKubeletConfig.podPidsLimit")
    assert f"greater than or equal to {least} and less than {most + 1}" in text


def test_nodes_have_as_many_tags_as_gke_allows() -> None:
    assert f"A maximum of {MOST_TAGS} tag key-value pairs" in schemas()["ResourceManagerTags"]["description"]


SYSCTLS = spec_of_class("nodeSystemConfig", "linuxNodeConfig", "sysctls")["properties"]


def test_kernel_parameters_are_those_of_gkes_api() -> None:
    text = described(schemas(), "LinuxNodeConfig.sysctls").partition("are supported. ")[2]
    assert set(table("sysctls").facts) == set(text.split())


@pytest.mark.parametrize("name", sorted(table("sysctls").facts))
def test_kernel_parameters_have_the_bounds_of_compute_classes(name: str) -> None:
    schema = SYSCTLS[name]
    whole = (schema["minimum"], schema["maximum"]) if "minimum" in schema else None
    choice = (min(schema["enum"]), max(schema["enum"])) if "enum" in schema else None

    assert sysctl_range(name) == (whole or choice)
