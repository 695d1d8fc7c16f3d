"""Two controllers as local processes, each behind its own proxy to the API server."""

import json
import os
import signal
from dataclasses import dataclass
from urllib.parse import urlsplit

import yaml

from sandbox.cluster.controller_process import DEPLOYMENT, NAMESPACE, command_of, write_token_kubeconfig
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.ports import free_port
from sandbox.cluster.processes import Processes
from tests.storm.proxy import Proxy
from tools.toolchain.paths import RunState


@dataclass
class Replica:
    """A controller that can be killed, paused and disconnected."""

    name: str
    state: RunState
    proxy: Proxy
    argv: list[str]
    environment: dict[str, str]

    def start(self) -> None:
        address = f"--http-address=127.0.0.1:{free_port()}"
        Processes(self.state).start(self.name, [*self.argv, address], self.environment)

    def kill(self) -> None:
        Processes(self.state).kill(self.name)

    def pause(self, on: bool) -> None:
        row = Processes(self.state).table().get(self.name)
        if row is not None and row.process() is not None:
            os.kill(row.pid, signal.SIGSTOP if on else signal.SIGCONT)

    def keep(self) -> None:
        """Restarts it if it has ended, as a Deployment does."""
        row = Processes(self.state).table().get(self.name)
        if row is None or row.process() is None:
            self.start()


def make(state: RunState, kubectl: Kubectl, name: str) -> Replica:
    """Returns a replica with the Deployment's command and ServiceAccount, behind a proxy."""
    kubeconfig = state.root / f"{name}.kubeconfig"
    write_token_kubeconfig(kubectl, kubeconfig)
    content = yaml.safe_load(kubeconfig.read_text())
    cluster = content["clusters"][0]["cluster"]
    port = urlsplit(cluster["server"]).port
    assert port is not None
    proxy = Proxy(port).start()
    cluster["server"] = f"https://127.0.0.1:{proxy.port}"
    kubeconfig.write_text(yaml.safe_dump(content))
    text = kubectl.run("get", "deployment", DEPLOYMENT, "-n", NAMESPACE, "-o", "json")
    argv, environment = command_of(json.loads(text), state.volumes)
    own = {"KUBECONFIG": str(kubeconfig), "POD_NAME": name}
    return Replica(name, state, proxy, argv, {**environment, **own})
