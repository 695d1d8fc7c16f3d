"""Cases of the rules of what is declared in a cluster: namespaces, rights, pods, charts."""

from typing import Any

from policies.rule import Resource
from policies.rules import charts, namespaces, rbac, workloads
from tests.unit.policies.builders import (
    DIGEST,
    Case,
    cluster,
    deployment,
    fails,
    kubernetes,
    namespace,
    passes,
    pod,
    ray_cluster,
    release,
)

RBAC = "rbac.authorization.k8s.io/v1"
READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
ENFORCE = "pod-security.kubernetes.io/enforce"
PIN = "such as repository@sha256:… or repository:1.2.3"
IN_HELMS = {"createNamespace": True}
RAY_ADDON: dict[str, Any] = {"addonsConfig": {"rayOperatorConfigs": [{"enabled": True}]}}


def role(*rules: dict[str, Any], kind: str = "ClusterRole") -> Resource:
    return kubernetes(f"{RBAC}:{kind}", "reader", rules=list(rules))


def binding(*subjects: str, kind: str = "RoleBinding") -> Resource:
    return kubernetes(
        f"{RBAC}:{kind}", "binding", subjects=[{"kind": "Group", "name": name} for name in subjects]
    )


def bound_to(role_name: str) -> Resource:
    return kubernetes(f"{RBAC}:ClusterRoleBinding", "binding", roleRef={"name": role_name})


def network_policy(name: str) -> Resource:
    return kubernetes("networking.k8s.io/v1:NetworkPolicy", "deny", namespace=name)


CASES: tuple[Case, ...] = (
    passes(rbac.no_wildcards, "named rights", role(READ_PODS)),
    fails(
        rbac.no_wildcards,
        "wildcards",
        [
            role(READ_PODS, {"apiGroups": ["*"], "resources": ["pods"], "verbs": ["get", "*"]}),
            role({**READ_PODS, "resources": ["*"]}, kind="Role"),
        ],
        'reader: list the values of rules[1].apiGroups instead of "*"',
        'reader: list the values of rules[1].verbs instead of "*"',
        'reader: list the values of rules[0].resources instead of "*"',
    ),
    passes(rbac.no_bindings_to_everyone, "a group", binding("team-a@acme.example")),
    fails(
        rbac.no_bindings_to_everyone,
        "everyone",
        [binding("team-a@acme.example", "system:authenticated"), binding("system:anonymous")],
        "binding: bind subjects[1] to a group of your own: it is system:authenticated",
        "binding: bind subjects[0] to a group of your own: it is system:anonymous",
    ),
    passes(rbac.no_bindings_to_all_groups, "a team's group", binding("team-a@acme.example")),
    fails(
        rbac.no_bindings_to_all_groups,
        "the group of all groups",
        binding("team-a@acme.example", "gke-security-groups@acme.example"),
        "binding: bind subjects[1] to one team's group: all groups are in gke-security-groups@acme.example",
    ),
    passes(rbac.no_system_masters, "a group", binding("team-a@acme.example")),
    fails(
        rbac.no_system_masters,
        "system:masters",
        binding("system:masters"),
        "binding: bind subjects[0] to a group of your own: it is system:masters",
    ),
    passes(rbac.no_cluster_admin, "another role", bound_to("view")),
    fails(
        rbac.no_cluster_admin,
        "cluster-admin",
        bound_to("cluster-admin"),
        "binding: bind a role with the permissions that are needed: it is cluster-admin",
    ),
    passes(rbac.no_escalation, "verbs of use", role(READ_PODS)),
    fails(
        rbac.no_escalation,
        "verbs that give permissions of others",
        role(READ_PODS, {**READ_PODS, "verbs": ["get", "impersonate", "bind"]}),
        "reader: remove bind from rules[1].verbs",
        "reader: remove impersonate from rules[1].verbs",
    ),
    passes(namespaces.pod_security, "both levels", namespace(), namespace(level="restricted"), release()),
    fails(
        namespaces.pod_security,
        "no level, privileged, made by Helm",
        [namespace("a", None), namespace("b", "privileged"), release(**IN_HELMS)],
        f"a: label it {ENFORCE}: baseline or restricted",
        f"b: label it {ENFORCE}: baseline or restricted",
        f"kuberay-operator: declare Namespace kuberay-system with the label {ENFORCE} and remove "
        "createNamespace: Helm would create it without the label",
    ),
    passes(
        namespaces.namespace_has_network_policy,
        "one a namespace",
        namespace(),
        network_policy("team-a"),
        release(**IN_HELMS),
        network_policy("kuberay-system"),
    ),
    fails(
        namespaces.namespace_has_network_policy,
        "some without",
        [namespace("team-a"), network_policy("team-a"), namespace("team-b"), release(**IN_HELMS)],
        "team-b: declare a NetworkPolicy in namespace team-b that denies traffic by default",
        "kuberay-operator: declare a NetworkPolicy in namespace kuberay-system that denies traffic by "
        "default",
    ),
    passes(namespaces.no_default_namespace, "named", deployment(), release()),
    fails(
        namespaces.no_default_namespace,
        "by name or by absence",
        [
            kubernetes("core/v1:Secret", "secret", namespace="default"),
            kubernetes("kueue.x-k8s.io/v1beta2:LocalQueue", "queue", namespace=None),
            release(namespace=None),
        ],
        "secret: set metadata.namespace to a namespace other than default",
        "queue: set metadata.namespace to a namespace other than default",
        "kuberay-operator: set namespace to a namespace other than default",
    ),
    passes(
        workloads.seccomp,
        "of the pod, or of each container",
        deployment(),
        deployment(seccomp="Localhost"),
        kubernetes(
            "core/v1:Pod",
            "pod",
            spec={"containers": [{"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}]},
        ),
    ),
    fails(
        workloads.seccomp,
        "none, or unconfined",
        [deployment(seccomp=None), ray_cluster(pod("ray:2.1"), pod("ray:2.1", seccomp="Unconfined"))],
        'app: set spec.template.spec.securityContext.seccompProfile.type to "RuntimeDefault"',
        "ray: set spec.workerGroupSpecs[0].template.spec.securityContext.seccompProfile.type "
        'to "RuntimeDefault"',
    ),
    passes(
        workloads.images_are_pinned,
        "tags and digests, with a registry's port",
        deployment("app:1.2", "registry.example:5000/team/app:v1", f"app{DIGEST}", f"app:latest{DIGEST}"),
        ray_cluster(pod("ray:2.1"), pod("ray:2.1")),
    ),
    fails(
        workloads.images_are_pinned,
        "latest, blank, a port that is no tag",
        [
            deployment("app:latest", "app", "registry.example:5000/app"),
            ray_cluster(pod("ray:2.1"), pod("ray:latest")),
        ],
        f'app: pin spec.template.spec.containers[0].image, {PIN}: it is "app:latest"',
        f'app: pin spec.template.spec.containers[1].image, {PIN}: it is "app"',
        f'app: pin spec.template.spec.containers[2].image, {PIN}: it is "registry.example:5000/app"',
        f'ray: pin spec.workerGroupSpecs[0].template.spec.containers[0].image, {PIN}: it is "ray:latest"',
    ),
    passes(
        workloads.images_have_a_digest,
        "digests, with a tag or without",
        deployment(f"app{DIGEST}", f"registry.example:5000/team/app:v1{DIGEST}"),
    ),
    fails(
        workloads.images_have_a_digest,
        "a release by its tag, a digest that is cut",
        [deployment("app:1.2.3", "app@sha256:0123"), ray_cluster(pod(f"ray{DIGEST}"), pod("ray:2.1"))],
        'app: write spec.template.spec.containers[0].image as repository@sha256:…: it is "app:1.2.3"',
        'app: write spec.template.spec.containers[1].image as repository@sha256:…: it is "app@sha256:0123"',
        "ray: write spec.workerGroupSpecs[0].template.spec.containers[0].image as repository@sha256:…: "
        'it is "ray:2.1"',
    ),
    passes(
        charts.charts_name_digests,
        "a tag with a digest in the values",
        release(values={"image": {"repository": "quay.io/kuberay/operator", "tag": f"v1.6.2{DIGEST}"}}),
    ),
    fails(
        charts.charts_name_digests,
        "no image, an image by tag",
        [release(values={}), release(values={"image": {"tag": "v1.6.2"}})],
        *2
        * (
            "kuberay-operator: write a digest into the operator's `image` (repository:tag@sha256:…): the "
            "chart refers to the image by tag",
        ),
    ),
    passes(
        charts.charts_are_pinned,
        "exact versions, and a chart of this checkout",
        release(values={"image": {"tag": "v1.6.2"}, "driver": {"channel": "latest"}}),
        release(version="v0.19.2-rc.1", chart="oci://registry.example/charts/kueue"),
        release(version=None, chart="./charts/own"),
    ),
    fails(
        charts.charts_are_pinned,
        "none, a range, OCI too, latest in the values",
        [
            release(version=None),
            release(version="1.x"),
            release(version=None, chart="oci://registry.example/charts/kueue"),
            release(values={"image": {"tag": "latest"}, "extra": [{"image": "tool:latest"}, 3]}),
        ],
        "kuberay-operator: set version to an exact one, such as 1.2.3: it is absent",
        "kuberay-operator: set version to an exact one, such as 1.2.3: it is 1.x",
        "kuberay-operator: set version to an exact one, such as 1.2.3: it is absent",
        'kuberay-operator: pin values.image.tag: it is "latest"',
        'kuberay-operator: pin values.extra[0].image: it is "tool:latest"',
    ),
    passes(charts.one_kuberay_operator, "a release alone", cluster(), release()),
    passes(
        charts.one_kuberay_operator,
        "the add-on, and another chart",
        cluster(**RAY_ADDON),
        release(chart="oci://registry.example/charts/kueue"),
    ),
    fails(
        charts.one_kuberay_operator,
        "the add-on and a release",
        [cluster(**RAY_ADDON), release()],
        "kuberay-operator: remove it, or the add-on of cluster ray: both are KubeRay's operator",
    ),
    fails(
        charts.one_kuberay_operator,
        "a release and a Deployment",
        [release(), deployment("operator:1.6.2", name="kuberay-operator")],
        "kuberay-operator: remove it, or kuberay-operator: both are KubeRay's operator",
    ),
)
