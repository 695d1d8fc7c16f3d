"""The versions and the builds of a sandbox's tools."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

KUBERNETES = "v1.36.3"
KUEUE = "v0.19.2"
CONTAINERD = "v2.3.1"
_KUBERNETES_LDFLAGS = (
    f"-X k8s.io/component-base/version.gitVersion={KUBERNETES} "
    "-X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"
)
_PULUMI_LDFLAGS = "-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v3.259.0"
KAI_MODULE = "github.com/NVIDIA/KAI-scheduler"
_HELM_LDFLAGS = "-X helm.sh/helm/v3/internal/version.version=v3.22.0"
_VALE_LDFLAGS = "-X main.version=v3.7.1"


@dataclass(frozen=True)
class Tool:
    """An executable.

    `module` is the folder in `modules/` whose go.mod and go.sum pin it. `version_args` are the arguments with
    which it prints its version; None if it can't, so that an executable on PATH is never used.
    `cpu_seconds` is the CPU time of a build with an empty build cache on a quiet machine, after the tools of
    the same module above it; for the order of builds and for progress lines.
    `tags` are Go build tags. `cgo`: parts of it are C, so that its build needs a C compiler; all others are
    built without cgo, into static executables.
    """

    name: str
    version: str
    module: str
    package: str
    cpu_seconds: int
    ldflags: str = ""
    version_args: tuple[str, ...] | None = ("--version",)
    tags: tuple[str, ...] = ()
    cgo: bool = False

    @property
    def all_ldflags(self) -> str:
        """The flags that strip symbol tables and set the version, which sources from the module proxy
        lack."""
        return f"-s -w {self.ldflags}"

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of `go build`, without `-ldflags`."""
        return ("-trimpath", *(["-tags", ",".join(self.tags)] if self.tags else []))


def _kubernetes(name: str, cpu_seconds: int, *version_args: str) -> Tool:
    package = f"k8s.io/kubernetes/cmd/{name}"
    arguments = version_args or ("--version",)
    return Tool(name, KUBERNETES, "kubernetes", package, cpu_seconds, _KUBERNETES_LDFLAGS, arguments)


def _kubernetes_node(name: str, cpu_seconds: int) -> Tool:
    package = f"k8s.io/kubernetes/cmd/{name}"
    return Tool(name, KUBERNETES, "kubernetes-node", package, cpu_seconds, _KUBERNETES_LDFLAGS)


def _containerd(command: str, cpu_seconds: int) -> Tool:
    package = f"github.com/containerd/containerd/v2/cmd/{command}"
    tags = ("urfave_cli_no_docs", "no_btrfs", "no_devmapper", "no_zfs")
    ldflags = f"-X github.com/containerd/containerd/v2/version.Version={CONTAINERD}"
    return Tool(command, CONTAINERD, "containerd", package, cpu_seconds, ldflags, tags=tags)


def _kai(command: str, cpu_seconds: int) -> Tool:
    # KAI's executables have generic names such as "scheduler", so a prefix is added.
    package = f"{KAI_MODULE}/cmd/{command}"
    return Tool(f"kai-{command}", "v0.12.0", "kai", package, cpu_seconds, version_args=None)


def _kueue_performance(command: str, cpu_seconds: int) -> Tool:
    package = f"sigs.k8s.io/kueue/test/performance/scheduler/{command}"
    return Tool(f"kueue-{command}", KUEUE, "kueue-performance", package, cpu_seconds, version_args=None)


_ALL = (
    Tool(
        "pulumi",
        "v3.259.0",
        "pulumi",
        "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
        250,
        _PULUMI_LDFLAGS,
        ("version",),
    ),
    # Runs programs in YAML; available on the module proxy, unlike the hosts of other languages.
    Tool(
        "pulumi-language-yaml",
        "v1.38.0",
        "pulumi-yaml",
        "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml",
        130,
        version_args=None,
    ),
    # Muster's own program that generates Python SDKs, as Pulumi's host for Python is not on the proxy.
    Tool("python-sdk", "v3.259.0", "python-sdk", ".", 105, version_args=None),
    Tool("etcd", "v3.6.15", "etcd", "go.etcd.io/etcd/server/v3", 45),
    _kubernetes("kube-apiserver", 320),
    _kubernetes("kube-controller-manager", 85),
    _kubernetes("kube-scheduler", 7),
    _kubernetes("kubectl", 33, "version", "--client"),
    Tool("kwok", "v0.8.0", "kwok", "sigs.k8s.io/kwok/cmd/kwok", 100),
    Tool("kwokctl", "v0.8.0", "kwok", "sigs.k8s.io/kwok/cmd/kwokctl", 20),
    Tool(
        "ray-operator",
        "v1.6.2",
        "kuberay",
        "github.com/ray-project/kuberay/ray-operator",
        100,
        version_args=None,
    ),
    Tool("jobset", "v0.11.0", "jobset", "sigs.k8s.io/jobset", 60, version_args=None),
    Tool("lws", "v0.8.0", "lws", "sigs.k8s.io/lws/cmd", 60, version_args=None),
    Tool("kueue", KUEUE, "kueue", "sigs.k8s.io/kueue/cmd/kueue", 240, version_args=None),
    _kueue_performance("minimalkueue", 240),
    _kueue_performance("runner", 27),
    _kai("scheduler", 200),
    _kai("binder", 13),
    _kai("podgrouper", 7),
    _kai("queuecontroller", 7),
    # Counts pods' requests with Kubernetes' own code, for a property test; Muster's own program.
    Tool("pod-requests", KUBERNETES, "pod-requests", ".", 80, version_args=None),
    # Renders the operators' charts in the tests; --template omits the commit.
    Tool(
        "helm",
        "v3.22.0",
        "helm",
        "helm.sh/helm/v3/cmd/helm",
        145,
        _HELM_LDFLAGS,
        ("version", "--template", "{{.Version}}"),
    ),
    # Real nodes (sandbox/realnodes).
    _kubernetes_node("kubelet", 380),
    _kubernetes_node("kube-proxy", 16),
    # Its module has the versions of the kubelet's, whose compiled packages it shares, except those of the API
    # between a kubelet and its drivers, whose names changed after this driver's release.
    Tool(
        "dra-example-kubeletplugin",
        "v0.2.1",
        "dra-driver",
        "sigs.k8s.io/dra-example-driver/cmd/dra-example-kubeletplugin",
        30,
        version_args=None,
    ),
    # Muster's own program around kube-router's controller; in the kubelet's versions too.
    Tool("network-policies", "v2.1.0", "network-policies", ".", 30, version_args=None),
    _containerd("containerd", 104),
    _containerd("containerd-shim-runc-v2", 2),
    _containerd("ctr", 5),
    # Muster's own choice of plug-ins.
    Tool("coredns", "v1.14.2", "coredns", ".", 150, version_args=None),
    # Muster's own program: the container that holds a pod's namespaces on the sandbox's real nodes.
    Tool("pause", "v1", "pause", ".", 5, version_args=None),
    # Checks English in `make lint` (tools/prose); its parsers are C.
    Tool(
        "vale",
        "v3.7.1",
        "vale",
        "github.com/errata-ai/vale/v3/cmd/vale",
        40,
        _VALE_LDFLAGS,
        cgo=True,
    ),
)

TOOLS: dict[str, Tool] = {tool.name: tool for tool in _ALL}

CLUSTER_TOOLS = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
    "kwok",
    "kwokctl",
    "ray-operator",
)


NODE_PROGRAMS = (
    "kubelet",
    "kube-proxy",
    "dra-example-kubeletplugin",
    "network-policies",
    "containerd",
    "containerd-shim-runc-v2",
    "ctr",
)
"""Tools that run on each real node, outside pods."""

NODE_TOOLS = (*NODE_PROGRAMS, "coredns", "pause")
"""Tools of real nodes, in addition to the cluster's."""

KAI_TOOLS = tuple(name for name in TOOLS if name.startswith("kai-"))


def tools_for(engine: str) -> tuple[str, ...]:
    """Returns the names of the tools that `up` needs with this admission engine."""
    engine_tools = {"kueue": ("kueue",), "kai": KAI_TOOLS}
    return ("pulumi", *CLUSTER_TOOLS, *engine_tools.get(engine, ()))


@dataclass(frozen=True)
class CrdSource:
    """CustomResourceDefinitions in a Go module pinned by `wrapper`: `files` in its `folder`, restricted to
    `version`; all versions if it is empty."""

    wrapper: str
    module: str
    folder: str
    files: str = "*.yaml"
    version: str = ""


_KUEUE_CRDS = CrdSource("kueue", "sigs.k8s.io/kueue", "config/components/crd/bases")
_CRD_SOURCES = (
    CrdSource("kuberay", "github.com/ray-project/kuberay/ray-operator", "config/crd/bases"),
    CrdSource("kueue", "k8s.io/autoscaler/cluster-autoscaler/apis", "config/crd"),
)
_KAI_CRDS = "deployments/kai-scheduler/crds"
# Without the CRDs of KAI's operator, 90% of the total: the sandbox starts the services itself.
_KAI_CRD_SOURCES = (
    CrdSource("kai", KAI_MODULE, _KAI_CRDS, "scheduling.run.ai_*.yaml"),
    CrdSource("kai", KAI_MODULE, _KAI_CRDS, "kai.scheduler_topologies.yaml"),
)


_OPERATOR_CRDS = {
    "jobset": CrdSource("jobset", "sigs.k8s.io/jobset", "config/components/crd/bases"),
    "lws": CrdSource("lws", "sigs.k8s.io/lws", "config/crd/bases"),
}


def crds_for(engine: str, operators: Sequence[str] = ()) -> tuple[CrdSource, ...]:
    """Returns the CRDs that a cluster with this admission engine and these operators serves."""
    common = (*_CRD_SOURCES, *(_OPERATOR_CRDS[name] for name in operators))
    if engine == "muster":  # as the platform installs them (components/operators/kueue.py)
        return *common, replace(_KUEUE_CRDS, version="v1beta2")
    return *common, _KUEUE_CRDS, *(_KAI_CRD_SOURCES if engine == "kai" else ())
