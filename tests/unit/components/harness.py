"""Runs components against Pulumi's mocks, and records the inputs and options of declared resources.

Pulumi registers resources concurrently, in an order that depends on the machine. Here every registration is
delayed by a random time, and results are sorted by name, so that no test can depend on the order.
"""

import asyncio
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pulumi
from pulumi.runtime import rpc
from pulumi.runtime.mocks import MockCallArgs, MockMonitor, MockResourceArgs, Mocks, set_mocks

from components import platform
from components.admission.policies import AdmissionPolicies, AdmissionPoliciesArgs
from components.base import STACK_PLATFORM, Component
from preview.plugins.pulumi_internals import skip_work
from settings.load import load, parse
from tests.unit.settings.builders import FILE

skip_work()  # as in previews: three quarters of the time of a large stack

SEED = os.environ.get("REGISTRATION_SEED") or str(random.randrange(2**32))
DELAY_SECONDS_MAX = 0.001

# Outputs that only the cloud computes, and that components read.
OUTPUTS: dict[str, dict[str, Any]] = {
    "gcp:container/cluster:Cluster": {
        "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"endpoint": "gke-ray.us-west1-b.gke.goog"}},
        "endpoint": "203.0.113.7",
        "privateClusterConfig": {"privateEndpoint": "10.0.0.2"},
        "masterAuth": {"clusterCaCertificate": "Y2E="},
    },
    "docker-build:index:Image": {
        "ref": f"us-west1-docker.pkg.dev/acme-ml/muster/controller@sha256:{'0' * 64}"
    },
    "gcp:logging/projectSink:ProjectSink": {
        "writerIdentity": "serviceAccount:sink@gcp-sa-logging.iam.gserviceaccount.com"
    },
}
AGENTS = {
    "container.googleapis.com": "container-engine-robot",
    "gkebackup.googleapis.com": "gcp-sa-gkebackup",
}
"""Services and the domains of their service agents (Google Cloud IAM, service agents)."""


@dataclass(frozen=True)
class Declared:
    """A resource as registered with the engine; it names others `kind/name`, as `Declarations` does."""

    type: str
    name: str
    inputs: dict[str, Any]
    depends_on: frozenset[str]
    deleted_with: str
    parent: str
    provider: str
    protect: bool
    aliases: tuple[str, ...]
    ignore_changes: tuple[str, ...]
    replace_on_changes: tuple[str, ...]
    delete_before_replace: bool
    retain_on_delete: bool


class Declarations(dict[str, Declared]):
    """Declared resources by `kind/name`, and sorted by it; the kind is the last part of the type token."""

    def kinds(self, *kinds: str) -> list[str]:
        """Returns the names of these kinds, sorted."""
        return [name for name in self if name.split("/", 1)[0] in kinds]

    def inputs(self, name: str) -> dict[str, Any]:
        return self[name].inputs

    def spec(self, name: str) -> dict[str, Any]:
        spec: dict[str, Any] = self[name].inputs["spec"]
        return spec


def with_integers(inputs: dict[str, Any]) -> dict[str, Any]:
    """Converts whole floats to integers: protocol buffers, which the harness reads, have one number type."""
    whole: dict[str, Any] = json.loads(json.dumps(inputs), parse_float=lambda text: int(float(text)))
    return whole


def declare(build: Callable[[], object]) -> Declarations:
    """Calls `build` as a Pulumi program; returns after every registration."""
    print(f"delays of registrations: REGISTRATION_SEED={SEED}")  # pytest shows it if a test fails

    def program() -> None:
        # Nothing is returned: the runtime would wait for it as for outputs.
        build()

    monitor = _Recorder(_Mocks())
    with closing(monitor), _own_event_loop():
        set_mocks(_Mocks(), project="muster", stack="test", preview=False, monitor=monitor)
        pulumi.runtime.test(program)()  # type: ignore[no-untyped-call]  # Pulumi has no types here
    return Declarations(sorted(monitor.declared.items()))


@contextmanager
def _own_event_loop() -> Iterator[None]:
    """Provides an event loop and closes it; Pulumi's runtime would create one and never close it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
        asyncio.set_event_loop(None)


class _Mocks(Mocks):
    def call(self, args: MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        raise AssertionError(f"components must not call provider functions, but call {args.token}")

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        return f"{args.name}-id", {**args.inputs, **_outputs(args)}


def _outputs(args: MockResourceArgs) -> dict[str, Any]:
    if args.typ == "gcp:monitoring/notificationChannel:NotificationChannel":
        return {"name": f"projects/{args.inputs['project']}/notificationChannels/{args.name}"}
    if args.typ == "gcp:projects/serviceIdentity:ServiceIdentity":
        email = f"service-1@{AGENTS[args.inputs['service']]}.iam.gserviceaccount.com"
        return {"email": email, "member": f"serviceAccount:{email}"}
    if args.typ != "gcp:serviceaccount/account:Account":
        return OUTPUTS.get(args.typ, {})
    project = args.inputs["project"]
    email = f"{args.inputs['accountId']}@{project}.iam.gserviceaccount.com"
    name = f"projects/{project}/serviceAccounts/{email}"
    return {"email": email, "member": f"serviceAccount:{email}", "name": name}


class _Recorder(MockMonitor):
    """Records resource options, which Pulumi's mocks do not see, from registration requests."""

    def __init__(self, mocks: Mocks) -> None:
        super().__init__(mocks)
        self.declared = Declarations()
        self._threads = threading.local()
        self._loops: list[asyncio.AbstractEventLoop] = []

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802  # the name of the RPC
        time.sleep(random.Random(f"{SEED} {request.name}").uniform(0, DELAY_SECONDS_MAX))
        if request.type != "pulumi:pulumi:Stack":
            name = f"{_kind(request.type)}/{request.name}"
            assert name not in self.declared, f"{name} is declared twice"
            self.declared[name] = _declared(request)
        self._ensure_event_loop()
        return super().RegisterResource(request)  # type: ignore[no-untyped-call]  # nor here

    def _ensure_event_loop(self) -> None:
        """Gives this thread a loop, once; `close` closes it."""
        if not hasattr(self._threads, "loop"):
            self._threads.loop = asyncio.new_event_loop()
            self._loops.append(self._threads.loop)
            asyncio.set_event_loop(self._threads.loop)

    def close(self) -> None:
        for loop in self._loops:
            loop.close()


def _declared(request: Any) -> Declared:
    return Declared(
        type=request.type,
        name=request.name,
        inputs=_without_nothing(rpc.deserialize_properties(request.object)),
        depends_on=frozenset(_short(request.dependencies)),
        deleted_with=next(iter(_short([request.deletedWith])), ""),
        parent=next(iter(_short([request.parent])), ""),
        # A provider's reference is URN::id.
        provider=next(iter(_short([request.provider.rpartition("::")[0]])), ""),
        protect=request.protect,
        aliases=tuple(map(str, request.aliases)),
        ignore_changes=tuple(request.ignoreChanges),
        replace_on_changes=tuple(request.replaceOnChanges),
        delete_before_replace=request.deleteBeforeReplace,
        retain_on_delete=request.retainOnDelete,
    )


def _kind(type_token: str) -> str:
    return type_token.rsplit(":", 1)[-1]


def _short(urns: Iterable[str]) -> list[str]:
    return [f"{_kind(urn.split('::')[2])}/{urn.split('::', 3)[3]}" for urn in urns if urn]


def _without_nothing(value: Any) -> Any:
    """Returns the inputs without None, which means unset."""
    if isinstance(value, Mapping):
        return {key: _without_nothing(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nothing(inner) for inner in value]
    return value


def declare_platform(config: Mapping[str, Any], *, with_policies: bool = False) -> Declarations:
    """Returns the resources of a stack with this `config`.

    Admission policies, two thirds of the resources, are left out unless asked for: they have their own tests,
    and the previews of all stacks.
    """
    return _declare_platform(json.dumps(config), with_policies)


@cache
def _declare_platform(config: str, with_policies: bool) -> Declarations:
    """Declares each config once: most tests share a few configs."""
    settings = parse(json.loads(config), FILE)
    policies = AdmissionPolicies if with_policies else NoPolicies
    with mock.patch.object(platform, "AdmissionPolicies", policies):
        return declare(lambda: platform.Platform("muster", platform.PlatformArgs(settings)))


@cache
def declare_stack(file: Path) -> Declarations:
    """Returns the resources of a stack file, which are declared once."""
    settings = load(file)
    return declare(lambda: platform.Platform(STACK_PLATFORM, platform.PlatformArgs(settings)))


class NoPolicies(Component):
    """The component without what it declares."""

    def __init__(self, name: str, _args: AdmissionPoliciesArgs, opts: pulumi.ResourceOptions) -> None:
        super().__init__("AdmissionPolicies", name, opts)
        self.register_outputs({})
