"""Helm charts. Pulumi sees the inputs of a release, not the objects that Helm creates."""

import re
from collections.abc import Iterator, Sequence

from policies.reading import pick, texts
from policies.rule import Resource, Violation, resource_rule, stack_rule
from policies.rules.cluster import CLUSTER

RELEASE = "kubernetes:helm.sh:Release"
DEPLOYMENT = "kubernetes:apps:Deployment"
KUBERAY = "kuberay-operator"
EXACT = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?")
# Keys whose value "latest" means an image; other settings of a chart may have that value.
NAMES_VERSION = ("tag", "version")
DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
# Charts in this checkout are under version control.
LOCAL = ("./", "../", "/")


@resource_rule(
    "muster-charts-are-pinned",
    RELEASE,
    source="Helm, chart versions: without one, or with a range, Helm installs the newest",
    severity="high",
)
def charts_are_pinned(release: Resource) -> Iterator[str]:
    """A chart has an exact version, also from an OCI registry, and its values contain no image tagged latest:
    deployed software changes only with the stack."""
    chart, version = release.props.get("chart") or "", release.props.get("version")
    if not chart.startswith(LOCAL) and not EXACT.fullmatch(version or ""):
        yield f"set version to an exact one, such as 1.2.3: it is {version or 'absent'}"
    for path, value in texts(release.props.get("values"), "values"):
        if value.endswith(":latest") or (value == "latest" and path.lower().endswith(NAMES_VERSION)):
            yield f'pin {path}: it is "{value}"'


@resource_rule(
    "muster-charts-name-digests",
    RELEASE,
    source="Kubernetes, container images: a tag can be moved to other code",
    severity="medium",
)
def charts_name_digests(release: Resource) -> Iterator[str]:
    """A chart's values name its image by digest: the chart's own are by tag, which anyone that may push to
    their registry can move."""
    if not any(DIGEST.search(value) for _, value in texts(release.props.get("values"), "values")):
        yield (
            "write a digest into the operator's `image` (repository:tag@sha256:…): the chart refers to the "
            "image by tag"
        )


@stack_rule(
    "muster-one-kuberay-operator",
    source="Cluster Toolkit: GKE's Ray add-on and another KubeRay operator exclude each other",
    severity="high",
)
def one_kuberay_operator(resources: Sequence[Resource]) -> Iterator[Violation]:
    """Ray objects have one operator, GKE's add-on or KubeRay's chart: two would conflict over each object."""
    addons = [r for r in resources if r.kind == CLUSTER and _has_ray_addon(r)]
    own = [r for r in resources if _is_kuberay(r)]
    for operator in own if addons else own[1:]:
        other = f"the add-on of cluster {addons[0].name}" if addons else own[0].name
        yield Violation(operator, f"remove it, or {other}: both are KubeRay's operator")


def _has_ray_addon(cluster: Resource) -> bool:
    configs = pick(cluster.props, "addonsConfig", "rayOperatorConfigs") or ()
    return any(config["enabled"] for config in configs)


def _is_kuberay(resource: Resource) -> bool:
    if resource.kind == RELEASE:
        return str(resource.props.get("chart")).rpartition("/")[2] == KUBERAY
    return resource.kind == DEPLOYMENT and pick(resource.props, "metadata", "name") == KUBERAY
