"""The programs of examples/components, with the package added as a user adds it."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import yaml

from preview.pulumi_cli import PulumiCli, Stack
from tests.stacks.conftest import STAND_INS
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import CHECKOUT
from tools.toolchain.steps import Screen

PACKAGE = CHECKOUT / "package"
EXAMPLES = CHECKOUT / "examples" / "components"
CLUSTER_STACK = "organization/ray-cluster/dev"


class Programs:
    """Programs that share a backend, so that they refer to each other's stacks."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self.folder = folder
        self._env = env
        self._tools = ensure_tools(["pulumi", "pulumi-language-yaml"], Screen())

    def example(self, name: str, **config: str) -> Stack:
        """Selects stack dev of a copy of an example, to which the package is added."""
        program = self.folder / name
        shutil.copytree(EXAMPLES / name, program)
        cli = self._cli(program)
        cli.run(["package", "add", str(PACKAGE)], self.folder / f"{name}.log")
        return self._stack(cli, config)

    def written(self, name: str, **program: object) -> Stack:
        """Selects stack dev of a new program in YAML."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "Pulumi.yaml").write_text(yaml.safe_dump({"name": name, "runtime": "yaml", **program}))
        return self._stack(self._cli(folder), {})

    def _cli(self, program: Path) -> PulumiCli:
        cli = PulumiCli(
            self._tools["pulumi"].path,
            self.folder / "run",
            env=self._env,
            project=program,
            hosts=[self._tools["pulumi-language-yaml"].path],
            choices=STAND_INS,
        )
        cli.preload()
        return cli

    def _stack(self, cli: PulumiCli, config: Mapping[str, str]) -> Stack:
        settings = self.folder / "settings.yaml"
        project = yaml.safe_load((cli.project / "Pulumi.yaml").read_text())["name"]
        settings.write_text(yaml.safe_dump({"config": {f"{project}:{key}": config[key] for key in config}}))
        return cli.select("dev", settings)
