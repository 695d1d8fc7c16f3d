"""The account that deploys the tenants of a split platform, on an API server that enforces its rights."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.tenants.deployer import DEPLOYER
from preview.pulumi_cli import PulumiCli, PulumiError
from sandbox.cluster.control_plane import authority, start_control_plane
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes
from sandbox.realnodes.certificates import Identity, write_certificate, write_kubeconfig
from settings.model.split import SPLIT, Part
from tests.stacks.conftest import LOCAL
from tests.stacks.dry_runs import Manifest
from tests.stacks.ray_requests import create
from tests.stacks.split_checkouts import Checkout, Config, changed, write_stacks
from tools.toolchain.crds import ensure_crds
from tools.toolchain.paths import RunState
from tools.toolchain.steps import StepError

pytestmark = pytest.mark.thorough

ACCOUNT = "deploy-tenants@acme-ml-dev.iam.gserviceaccount.com"
TWO: dict[Part, str] = {"foundation": "base", "cluster": "base", "tenants": "teams"}
SEARCH = {
    "namespace": "search",
    "queues": {"user-queue": "team-b"},
    "group": "search@example.com",
    "queueRequired": True,
    "storage": "1Gi",
}


class Platform:
    """Stack local in two stacks: `base`, deployed by the administrator, and `teams` by ACCOUNT."""

    def __init__(self, checkout: Checkout, admin: Kubectl, account: Kubectl) -> None:
        self.checkout, self.admin, self.account = checkout, admin, account
        self.config: Config = yaml.safe_load(LOCAL.read_text())["config"]
        self.config[SPLIT] = {"tenantsDeployer": ACCOUNT}
        write_stacks(checkout.stacks, self.config, TWO)

    def cli_of(self, user: Kubectl) -> PulumiCli:
        return self.checkout.cli_of("run", KUBECONFIG=str(user.kubeconfig))

    def up(self, user: Kubectl, stack: str) -> set[str]:
        """Deploys a stack as this user; returns the names of the resources that changed."""
        outcome = self.cli_of(user).select(stack, self.checkout.file(stack)).up()
        return {change.name for change in changed(outcome)}

    def destroy(self, user: Kubectl, stack: str) -> None:
        self.cli_of(user).select(stack, self.checkout.file(stack)).destroy()


@pytest.fixture(scope="module")
def platform(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Its base is deployed, in a cluster of its own."""
    state = RunState("deployer", checkout=tmp_path_factory.mktemp("deployer"))
    processes = Processes(state)
    try:
        admin = start_control_plane(state, processes, tools)
        admin.create_folder(ensure_crds("kueue", "jobset", "lws"))
        admin.run("wait", "--for=condition=Established", "crd", "--all", "--timeout=120s")
        checkout = Checkout(tmp_path_factory.mktemp("split"), tools["pulumi"])
        account = as_user(ACCOUNT, admin, authority(state), tmp_path_factory.mktemp("account"))
        deployed = Platform(checkout, admin, account)
        deployed.up(admin, "base")
        yield deployed
    finally:
        processes.stop_everything()


def as_user(name: str, admin: Kubectl, signer: Path, folder: Path) -> Kubectl:
    """Returns kubectl with a certificate of this user, whose only group is system:authenticated."""
    write_certificate(signer, Identity(name), folder)
    (folder / "ca.crt").write_bytes((signer / "ca.crt").read_bytes())
    server = yaml.safe_load(admin.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    write_kubeconfig(folder / "kubeconfig", folder, server)
    return Kubectl(admin.executable, folder / "kubeconfig")


def test_another_account_cannot_deploy_the_tenants(platform: Platform, tmp_path: Path) -> None:
    """The test of the test: without the binding, the API server refuses."""
    folder = authority_of(platform)
    stranger = as_user("stranger@example.com", platform.admin, folder, tmp_path)
    with pytest.raises(PulumiError, match="forbidden"):
        platform.up(stranger, "teams")


def authority_of(platform: Platform) -> Path:
    """Returns the folder of the authority, next to the administrator's certificate."""
    user = yaml.safe_load(platform.admin.kubeconfig.read_text())["users"][0]["user"]
    return Path(user["client-certificate"]).parent


def test_a_tenant_is_added_and_removed_with_these_rights_only(platform: Platform) -> None:
    platform.up(platform.account, "teams")
    assert platform.admin.run("get", "clusterqueue", "-o", "name").split()

    more = deepcopy(platform.config)
    more["muster:tenants"].append(SEARCH)
    write_stacks(platform.checkout.stacks, more, TWO)
    assert "search" in platform.up(platform.account, "teams")
    assert "user-queue" in platform.admin.run("get", "localqueue", "--namespace=search", "-o", "name")
    assert "search@example.com" in platform.admin.run(
        "get", "rolebinding", "--namespace=search", "-o", "yaml"
    )

    write_stacks(platform.checkout.stacks, platform.config, TWO)
    assert "search" in platform.up(platform.account, "teams")
    with pytest.raises(StepError, match="NotFound"):
        platform.admin.run("get", "namespace", "search")


BOUND = "rbac.authorization.k8s.io/v1"
ROLE: Manifest = {
    "apiVersion": BOUND,
    "kind": "ClusterRole",
    "metadata": {"name": "more"},
    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}],
}
BINDING: Manifest = {
    "apiVersion": BOUND,
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "more"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"kind": "User", "name": ACCOUNT, "apiGroup": "rbac.authorization.k8s.io"}],
}
POD: Manifest = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "shell", "namespace": "default"},
    "spec": {"containers": [{"name": "shell", "image": "registry.example/shell:1"}]},
}
FORBIDDEN: dict[str, Manifest] = {
    "a role of more rights than its own": ROLE,
    "itself as an administrator": BINDING,
    "a pod": POD,
}


@pytest.mark.parametrize("manifest", FORBIDDEN.values(), ids=FORBIDDEN)
def test_the_account_cannot_extend_its_rights(platform: Platform, manifest: Manifest) -> None:
    create(platform.admin, (), manifest)
    with pytest.raises(StepError, match="forbidden"):
        create(platform.account, (), manifest)


CHANGES: dict[str, tuple[tuple[str, ...], Any]] = {
    "its role": (
        ("clusterrole", DEPLOYER),
        {"op": "add", "path": "/rules/-", "value": {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}},
    ),
    "the controller": (
        ("deployment", "muster-controller", "--namespace=muster-system"),
        {"op": "replace", "path": "/spec/replicas", "value": 0},
    ),
}


@pytest.mark.parametrize(("target", "change"), CHANGES.values(), ids=CHANGES)
def test_the_account_cannot_change(platform: Platform, target: tuple[str, ...], change: Any) -> None:
    arguments = ("patch", *target, "--type=json", "--dry-run=server", f"--patch={json.dumps([change])}")
    platform.admin.run(*arguments)
    with pytest.raises(StepError, match="orbidden"):
        platform.account.run(*arguments)


def test_all_tenants_are_removed_with_these_rights_only(platform: Platform) -> None:
    platform.up(platform.account, "teams")
    platform.destroy(platform.account, "teams")
    assert platform.admin.run("get", "clusterqueue", "-o", "name") == ""
    assert "team-a" not in platform.admin.run("get", "namespace", "-o", "name")
