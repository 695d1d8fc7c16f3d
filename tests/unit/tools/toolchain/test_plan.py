"""The choice between official release files and builds, and the line with the reason."""

from collections.abc import Collection

import pytest

from tools.toolchain.plan import chosen_way, mirrored, plan
from tools.toolchain.releases import ReleaseFile
from tools.toolchain.steps import StepError
from tools.toolchain.tools import TOOLS, Tool

MISSING = [TOOLS[name] for name in ("pulumi", "kubectl", "etcd", "ray-operator")]
FILES = {
    "pulumi": ReleaseFile("pulumi", "linux-amd64", "https://a.example/pulumi"),
    "etcd": ReleaseFile("etcd", "linux-amd64", "https://a.example/etcd"),
    "kubectl": ReleaseFile("kubectl", "linux-amd64", "https://b.example/kubectl"),
}
UNPINNED = "building ray-operator, as no release file has a pinned checksum"


def file_of(tool: Tool) -> ReleaseFile | None:
    return FILES.get(tool.name)


@pytest.mark.parametrize(
    ("way", "silent", "downloads", "builds", "line"),
    [
        pytest.param(
            "",
            {},
            ["pulumi", "kubectl", "etcd"],
            ["ray-operator"],
            f"downloading official release files of pulumi, kubectl, etcd; {UNPINNED}",
            id="all-hosts-answer",
        ),
        pytest.param(
            "",
            {"b.example": "Connection refused"},
            ["pulumi", "etcd"],
            ["kubectl", "ray-operator"],
            "downloading official release files of pulumi, etcd; "
            f"building kubectl, as b.example is not available (Connection refused); {UNPINNED}",
            id="one-host-refuses",
        ),
        pytest.param(
            "",
            {"a.example": "no answer within 3 s", "b.example": "HTTP 403"},
            [],
            ["pulumi", "kubectl", "etcd", "ray-operator"],
            "building pulumi, kubectl, etcd, as a.example is not available (no answer within 3 s); "
            f"b.example is not available (HTTP 403); {UNPINNED}",
            id="no-host-answers",
        ),
        pytest.param(
            "build",
            {},
            [],
            ["pulumi", "kubectl", "etcd", "ray-operator"],
            "building pulumi, kubectl, etcd, ray-operator: MUSTER_TOOLS=build",
            id="builds-on-request",
        ),
        pytest.param(
            "download",
            {},
            ["pulumi", "kubectl", "etcd"],
            ["ray-operator"],
            f"downloading official release files of pulumi, kubectl, etcd; {UNPINNED}",
            id="downloads-on-request",
        ),
    ],
)
def test_plan(way: str, silent: dict[str, str], downloads: list[str], builds: list[str], line: str) -> None:
    probes: list[str] = []

    def unreachable(urls: Collection[str]) -> dict[str, str]:
        probes.extend(urls)
        return {url: silent[host] for url in urls if (host := url.split("/")[2]) in silent}

    planned = plan(MISSING, chosen_way({"MUSTER_TOOLS": way}), file_of, unreachable)
    assert [tool.name for tool, _ in planned.downloads] == downloads
    assert [tool.name for tool in planned.builds] == builds
    assert planned.line == line
    assert len(probes) == (0 if way == "build" else 2)  # one a host


def test_a_required_download_fails_if_a_host_does_not_answer() -> None:
    with pytest.raises(StepError, match=r"a\.example is not available \(HTTP 403\)") as error:
        plan(MISSING, "download", file_of, lambda urls: {"https://a.example/etcd": "HTTP 403"})
    assert "MUSTER_TOOLS_MIRROR" in error.value.try_this


def test_another_value_is_refused() -> None:
    with pytest.raises(StepError, match="MUSTER_TOOLS=source: expected build or download"):
        chosen_way({"MUSTER_TOOLS": "source"})


@pytest.mark.parametrize(
    ("mirror", "address"),
    [
        ("", "https://dl.k8s.io/v1/kubectl"),
        ("https://mirror.example/releases/", "https://mirror.example/releases/dl.k8s.io/v1/kubectl"),
    ],
)
def test_a_mirror_has_a_folder_for_each_host(mirror: str, address: str) -> None:
    assert mirrored("https://dl.k8s.io/v1/kubectl", {"MUSTER_TOOLS_MIRROR": mirror}) == address
