"""Runs the Pulumi CLI on this checkout, with a backend, a home and plugins in the run state.

The user's own Pulumi is not used: no login, only installed plugins of `~/.pulumi`, and no
KUBECONFIG unless it is passed.
"""

import json
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml

from preview import engine_events
from preview.offline_config import offline
from preview.plan import ResourceChange, read_changes
from preview.plugins import fork_server, launch
from preview.plugins.choice import Choice, choose_installed, sources, wanted_versions
from preview.plugins.launchers import install_beside, install_engine, install_providers
from preview.prior_state import with_resources
from tools.toolchain.paths import CHECKOUT, MARK
from tools.toolchain.steps import StepError

Say = Callable[[str], None]
PACK = CHECKOUT / "policies"
LINES_IN_ERROR = 8
SAVED_ONCE = {"PULUMI_EXPERIMENTAL": "true", "PULUMI_SKIP_CHECKPOINTS": "true"}
"""Variables of a CLI that saves the state when a command ends, not at each resource, which takes longer than
to create them. A command that is killed leaves resources that the state does not have."""
# What `pulumi stack init` writes into a stack file.
SECRETS_PROVIDER = re.compile(r"^(?:secretsprovider|encryptedkey|encryptionsalt):.*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """Result of an operation. `counts` are resources by op, without unchanged ones.

    violations: a text per violated mandatory policy. passed: the number of policies that hold, None if no
    policies were checked. plugins: where the providers came from.
    """

    counts: Mapping[str, int]
    changes: tuple[ResourceChange, ...]
    warnings: tuple[str, ...]
    text: str
    seconds: float
    violations: tuple[str, ...] = ()
    passed: int | None = None
    plugins: str = ""


class PulumiError(StepError):
    """A failed Pulumi command: the engine's error messages, and the path of the full log.

    outcome: the plan, if only policies refused it.
    """

    outcome: Outcome | None = None


class PulumiCli:
    """The CLI for one run state.

    binary: a pulumi built without plugins; the official one is used instead if it is installed.
    state_dir: the run state; everything is kept in `pulumi/` and logs in `logs/` below it.
    python: the interpreter that runs the program and the stand-ins.
    env: added to the environment, for example KUBECONFIG. Without that no cluster is reached.
    variables: added to the user's environment for its commands.
    project: the folder with Pulumi.yaml.
    hosts: the language hosts of programs that are not in Python.
    choices: which plugins to use; by default depending on what is installed.
    preloads: forks the stand-ins from a process that has imported the SDKs (preview/plugins/fork_server.py).
    """

    def __init__(
        self,
        binary: Path,
        state_dir: Path,
        python: str = sys.executable,
        env: Mapping[str, str] | None = None,
        *,
        project: Path = CHECKOUT,
        hosts: Iterable[Path] = (),
        choices: Mapping[str, Choice] | None = None,
        preloads: bool = True,
    ) -> None:
        self.folder = state_dir.resolve() / "pulumi"
        self.logs = state_dir.resolve() / "logs"
        self.project = project
        self._python = python
        self._home = self.folder / "home"
        for folder in (self._home, self.folder / "state", self.logs):
            folder.mkdir(parents=True, exist_ok=True)
        versions = wanted_versions()
        self.choices = dict(choices or choose_installed())
        self.binary = install_engine(self.folder / "bin", binary, python, self.choices["python"])
        for host in hosts:
            install_beside(self.binary.parent, host, host.name)
        install_providers(self._home, python, versions, self.choices)
        self.variables = {**self._own_variables(python), **(env or {})}
        inherited = {k: v for k, v in os.environ.items() if k != "KUBECONFIG" and not k.startswith("PULUMI_")}
        inherited.pop(launch.VARIABLE, None)
        self._env = {**inherited, **self.variables}
        self._preloads = preloads and self.choices["python"].official is None

    def _own_variables(self, python: str) -> dict[str, str]:
        """Returns the variables that replace the user's variables for Pulumi and the cluster."""
        passphrase = self.folder / "passphrase"
        if not passphrase.exists():
            unfinished = passphrase.with_suffix(".unfinished")
            unfinished.touch(mode=0o600)
            unfinished.write_text(secrets.token_urlsafe(24))
            unfinished.replace(passphrase)
        return {
            MARK: str(self.folder.parent),
            "KUBECONFIG": str(self.folder / "no-cluster.kubeconfig"),
            "NO_COLOR": "1",
            "PULUMI_BACKEND_URL": f"file://{self.folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE_FILE": str(passphrase),
            "PULUMI_DEBUG_COMMANDS": "true",  # enables the flag --event-log
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_HOME": str(self._home),
            "PULUMI_IGNORE_AMBIENT_PLUGINS": "true",
            "PULUMI_PYTHON_CMD": python,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }

    def select(self, name: str, config_file: Path) -> "Stack":
        """Selects the stack `name` with the settings of `config_file`; creates it if it does not exist.

        The engine writes its encryption salt into the settings, so it gets a copy. The real stack's key is
        removed from it, because Cloud KMS is not available offline, and so are encrypted values and the
        names of ESC environments.
        """
        config = self.folder / f"Pulumi.{name}.yaml"
        config.write_text(offline(SECRETS_PROVIDER.sub("", config_file.read_text())))
        stack = Stack(self, name, config)
        # `stack select` has no --config-file; in a separate folder it writes no settings into the checkout.
        home = self.folder / "project"
        home.mkdir(exist_ok=True)
        project = yaml.safe_load((self.project / "Pulumi.yaml").read_text())
        (home / "Pulumi.yaml").write_text(yaml.safe_dump({k: project[k] for k in ("name", "runtime")}))
        self.run(["stack", "select", "--create", name], log=self.logs / f"pulumi-select-{name}.log", cwd=home)
        stack.break_stale_lock()
        return stack

    def preload(self) -> None:
        """Starts to import the SDKs for the plugins of all later commands."""
        if self._preloads:
            self._env[launch.VARIABLE] = str(fork_server.start(self._python))

    def run(self, arguments: list[str], log: Path, say: Say | None = None, cwd: Path | None = None) -> str:
        """Runs one command; its output goes to `log` and line by line to `say`, and is returned.

        Raises PulumiError with the last lines of the output.
        """
        command = [str(self.binary), *arguments, "--non-interactive", "--color", "never"]
        lines: list[str] = []
        with (
            log.open("w") as out,
            subprocess.Popen(
                command,
                cwd=cwd or self.project,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            ) as process,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                out.write(line)
                out.flush()
                lines.append(line)
                if say is not None:
                    say(line.rstrip("\n"))
        if process.returncode != 0:
            last = [line.rstrip() for line in lines if line.strip()][-LINES_IN_ERROR:]
            raise PulumiError("\n".join(last) or f"pulumi exited with code {process.returncode}", log=log)
        return "".join(lines)


@dataclass(frozen=True)
class Stack:
    """One stack, and the settings file that its commands use."""

    cli: PulumiCli
    name: str
    config: Path

    def preview(
        self,
        say: Say | None = None,
        *,
        expect_no_changes: bool = False,
        refresh: bool = False,
        policies: bool = False,
        plan: Path | None = None,
        import_file: Path | None = None,
    ) -> Outcome:
        """Previews `up`.

        policies: runs the policy pack, with the configuration of the environment in the settings.
        refresh: reads live resources first, so that the preview shows changes made by hand.
        plan: file to which the engine writes the full plan, with secrets encrypted.
        import_file: file to which it writes the resources to create, for `pulumi import`.
        """
        flags = [*_flags(expect_no_changes, refresh), *(["--policy-pack", str(PACK)] if policies else [])]
        flags += ["--save-plan", str(plan)] if plan else []
        flags += ["--import-file", str(import_file)] if import_file else []
        return self._operate("preview", flags, say)

    def up(
        self, say: Say | None = None, *, expect_no_changes: bool = False, refresh: bool = False
    ) -> Outcome:
        """Deploys the program; with `refresh` compared with the live resources, not with the state."""
        return self._operate("up", ["--yes", "--skip-preview", *_flags(expect_no_changes, refresh)], say)

    def refresh(self, say: Say | None = None) -> Outcome:
        """Updates the state from the live resources: objects changed or deleted by hand."""
        return self._operate("refresh", ["--yes", "--skip-preview", "--clear-pending-creates"], say)

    def destroy(self, say: Say | None = None) -> Outcome:
        """Deletes all resources of the stack; the empty stack remains."""
        return self._operate("destroy", ["--yes", "--skip-preview"], say)

    def outputs(self) -> dict[str, Any]:
        """Returns the program's outputs, secrets masked."""
        log = self.cli.logs / f"pulumi-output-{self.name}.log"
        answer: dict[str, Any] = json.loads(
            self.cli.run(["stack", "output", "--json", "--stack", self.name], log)
        )
        return answer

    def exported(self) -> dict[str, Any]:
        """Returns the state, with secrets in plain text; no log has it."""
        arguments = ["stack", "export", "--show-secrets", "--stack", self.name]
        answer: dict[str, Any] = json.loads(self.cli.run(arguments, Path(os.devnull)))
        return answer

    def adopt(self, file: Path) -> None:
        """Imports the resources of an import file; the program decides whether they are protected."""
        flags = ["--protect=false", "--generate-code=false", "--skip-preview", "--yes"]
        log = self.cli.logs / f"pulumi-import-{self.name}.log"
        where = ["--stack", self.name, "--config-file", str(self.config)]
        self.cli.run(["import", *where, "--file", str(file), *flags], log)

    def assume(self, plan: Path) -> None:
        """Sets the state as if a preview's plan were deployed. The stack must be empty; creates nothing."""
        log, file = self.cli.logs / f"pulumi-assume-{self.name}.log", plan.with_suffix(".state.json")
        self.cli.run(["stack", "export", "--stack", self.name, "--file", str(file)], log)
        planned = json.loads(plan.read_text())["resourcePlans"]
        file.write_text(json.dumps(with_resources(json.loads(file.read_text()), planned)))
        self.cli.run(["stack", "import", "--stack", self.name, "--file", str(file)], log)

    def break_stale_lock(self) -> None:
        """Removes the lock of a killed run: a lock names its process, which no longer exists."""
        for lock in (self.cli.folder / "state").glob(f".pulumi/locks/**/{self.name}/*.json"):
            if not psutil.pid_exists(json.loads(lock.read_text())["pid"]):
                lock.unlink()
                lock.with_name(lock.name + ".attrs").unlink(missing_ok=True)

    def _events(self, verb: str) -> Path:
        return self.cli.logs / f"pulumi-{verb}-{self.name}.events.json"

    def _operate(self, verb: str, flags: list[str], say: Say | None) -> Outcome:
        log, events = self.cli.logs / f"pulumi-{verb}-{self.name}.log", self._events(verb)
        events.unlink(missing_ok=True)
        self.cli.preload()
        arguments = [verb, "--stack", self.name, "--config-file", str(self.config)]
        arguments += ["--event-log", str(events), "--suppress-permalink=true", *flags]
        began = time.monotonic()
        failure, text = None, ""
        try:
            text = self.cli.run(arguments, log, say)
        except PulumiError as error:
            failure = error
        seconds, log_events = time.monotonic() - began, engine_events.read_events(events)
        outcome = Outcome(
            engine_events.counts(log_events),
            read_changes(log_events),
            engine_events.warnings(log_events),
            text,
            seconds,
            tuple(engine_events.violations(log_events)),
            engine_events.policies_passed(log_events),
            sources(self.cli.choices),
        )
        if failure is None:
            return outcome
        errors = engine_events.errors(log_events)
        why = "\n".join([*errors, *outcome.violations]) or str(failure)
        refused = PulumiError(f"pulumi {verb} of stack {self.name}: {why}", log=log)
        refused.outcome = outcome if outcome.violations and not errors else None
        raise refused from None


def _flags(expect_no_changes: bool, refresh: bool) -> list[str]:
    flags = {"--expect-no-changes": expect_no_changes, "--refresh": refresh}
    return [flag for flag, enabled in flags.items() if enabled]
