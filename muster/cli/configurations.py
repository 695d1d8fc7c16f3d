"""Queue configurations from stack files of a checkout, and from manifests."""

import os
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from muster.cli.pool_nodes import with_pool_nodes
from muster.cli.verb import InputError
from muster.configuration.configuration import DEFAULT, from_fields
from muster.files.reading import MANIFESTS_BYTES_MAX, decoded, read_bytes, read_text
from muster.files.yaml_documents import document, documents
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.costs.prices import Prices, declared_prices
from muster.forecast.limits import WaitLimit
from muster.forecast.queue_objects import from_manifests, parse_controller

if TYPE_CHECKING:
    from settings.load import Settings


WEEK_SECONDS = 7 * 86_400
ENGINES = {"kueue": {"requeue_s": 1.0}}
"""Assumptions that follow from the admission engine of a stack."""


@dataclass(frozen=True)
class SimulatedConfiguration:
    """A configuration to simulate, and the forecast settings of its stack file."""

    configuration: QueueConfiguration
    trace: str | None = None
    assumptions: Mapping[str, float] = field(default_factory=dict)
    prices: Prices = field(default_factory=Prices)
    limits: Sequence[WaitLimit] = ()


def stack(name: str, ref: str | None = None, patch: Path | None = None) -> SimulatedConfiguration:
    """Reads a stack file of a checkout, by the stack's name or its path: unchanged, at a git ref, or patched.

    Raises: InputError."""
    try:
        from settings.load import SettingsError, parse
        from settings.split import whole
    except ImportError:
        raise InputError(
            "stack files are read in a checkout of the platform; elsewhere give --queues with a file or "
            "folder of manifests"
        ) from None
    file = stack_file(name)
    try:
        text = _text(file, ref) if patch is None else _patched(file, patch)
        platform = whole(
            _config(file, text), Path(file), lambda other: _config(str(other), _text(str(other), ref))
        )
        title = file if ref is None else f"{ref}:{file}"
        settings = parse(platform.config, title, files=platform.files)
    except SettingsError as error:
        raise InputError(str(error)) from error
    _check_engine(settings, file)
    return declared(settings, f"{name} at {ref}" if ref else f"{name} with {patch.name}" if patch else name)


def stack_file(name: str) -> str:
    """Returns the path of a stack file, by the stack's name or the path itself."""
    return name if name.endswith((".yaml", ".yml")) else f"stacks/Pulumi.{name}.yaml"


def declared(settings: "Settings", title: str) -> SimulatedConfiguration:
    """Returns the part of a stack's settings that forecasts use."""
    from settings.manifests.configuration import controller_configuration
    from settings.manifests.objects import manifests

    controller = DEFAULT
    if settings.controller is not None:
        controller = from_fields(controller_configuration(settings.controller, settings.admission.elastic))
    forecast = settings.forecast
    queues = with_pool_nodes(from_manifests(title, manifests(settings), controller), settings)
    return SimulatedConfiguration(
        replace(
            queues,
            autoscaled=_autoscaled(settings),
            reserved=_reserved(settings),
            spot=frozenset(
                p.flavor_name for p in settings.pools if p.accelerators and p.provisioning == "spot"
            ),
            node_life_s=_node_life_s(settings),
            purchase_options={p.flavor_name: p.provisioning for p in settings.pools if p.accelerators},
        ),
        forecast.trace,
        ENGINES.get(settings.admission.engine, {}) | forecast.assumptions,
        _prices(settings),
        [
            WaitLimit(
                limit.queue,
                limit.priority or "",
                limit.statistic,
                60 * limit.max_minutes,
                (limit.min_percent or 0) / 100,
            )
            for limit in forecast.limits
        ],
    )


def _autoscaled(settings: "Settings") -> Mapping[str, int]:
    """Returns the flavors whose nodes the cluster autoscaler adds, with the accelerators of their minimum
    node count."""
    accelerators: dict[str, int] = {}
    for pool in settings.pools:
        if pool.accelerators and not pool.queued:
            minimum = pool.accelerators * pool.nodes.min if pool.nodes is not None else 0
            accelerators[pool.flavor_name] = accelerators.get(pool.flavor_name, 0) + minimum
    return accelerators


def _reserved(settings: "Settings") -> Mapping[str, int]:
    """Returns the accelerators of reservations by flavor: the maximum sizes of its pools."""
    accelerators: Counter[str] = Counter()
    for pool in settings.pools:
        if pool.accelerators and pool.provisioning == "reserved":
            accelerators[pool.flavor_name] += pool.nodes_max * pool.accelerators
    return accelerators


def _node_life_s(settings: "Settings") -> Mapping[str, int]:
    """Returns the time after which Dynamic Workload Scheduler deletes nodes, by flavor (GKE, "About
    flex-start": at most seven days)."""
    requested_s = settings.admission.queued_provisioning.max_run_seconds or WEEK_SECONDS
    return {
        pool.flavor_name: pool.max_run_seconds or (requested_s if pool.queued else WEEK_SECONDS)
        for pool in settings.pools
        if pool.accelerators and pool.scheduled
    }


def _prices(settings: "Settings") -> Prices:
    declared = settings.forecast.prices
    if declared is None:
        return Prices()
    return declared_prices(declared.accelerator_hour, declared.currency, declared.date, declared.source)


def _config(file: str, text: str) -> Mapping[str, object]:
    content = document(text, file)
    config = content.get("config") if isinstance(content, dict) else None
    if not isinstance(config, dict):
        raise InputError(f"{file}: expected a mapping with the key `config`")
    return config


def _text(file: str, ref: str | None) -> str:
    if ref is not None:
        if "\0" in ref:
            raise InputError("--base has a NUL; expected a git ref, such as main, or a stack file")
        # --end-of-options: a ref that begins with a dash is no option of git
        command = ["git", "show", "--end-of-options", f"{ref}:{file}"]
        process = subprocess.run(command, capture_output=True, check=False)
        if process.returncode:
            why = process.stderr.decode(errors="replace").strip()
            raise InputError(f"{file} at {ref}: {why}; give a ref that has this stack file")
        return decoded(process.stdout, f"{file} at {ref}")
    if not os.path.exists(file):
        stacks = sorted(path.name[7:-5] for path in Path("stacks").glob("Pulumi.*.yaml"))
        raise InputError(f"{file}: no such stack file; expected one of: {', '.join(stacks) or 'none here'}")
    return read_text(file, "a stack file", pipes=False)  # `muster recommend` reads it twice


def _patched(file: str, patch: Path) -> str:
    """Applies the patch's changes of this file to a copy. Raises: InputError."""
    text = _text(file, None)
    changes = read_bytes(patch, f"a patch of {file}, as `git diff` prints it", bytes_max=MANIFESTS_BYTES_MAX)
    with TemporaryDirectory() as folder:
        copy = Path(folder) / file
        copy.parent.mkdir(parents=True)
        copy.write_text(text)
        command = ["git", "apply", f"--include={file}", "-"]
        applied = subprocess.run(command, cwd=folder, input=changes, capture_output=True, check=False)
        if applied.returncode or (changed := decoded(copy.read_bytes(), file)) == text:
            why = applied.stderr.decode(errors="replace").strip() or "it changes nothing in this file"
            raise InputError(f"{patch} does not apply to {file}: {why}")
        return changed


def _check_engine(settings: "Settings", file: str) -> None:
    if settings.admission.engine == "kai":
        raise InputError(
            f"{file}: admission.engine is kai, which decides differently; expected muster or kueue"
        )


def manifests_at(path: Path, controller: str = "{}") -> SimulatedConfiguration:
    """Reads the configuration of a file, or of a folder and its subfolders; `controller` is the controller's.

    Raises: InputError."""
    configuration = parse_controller(path.name, controller)
    return SimulatedConfiguration(from_manifests(path.name, manifests_below(path), configuration))


def manifests_below(path: Path) -> list[Mapping[str, Any]]:
    """Reads all manifests of a file, or of a folder and its subfolders. Raises: InputError."""
    files = (
        sorted(p for p in path.rglob("*") if p.suffix in (".yaml", ".yml", ".json"))
        if os.path.isdir(path)  # unlike Path.is_dir, no error for a name that no file can have
        else [path]
    )
    if not files or not os.path.exists(path):
        raise InputError(f"{path}: no manifests; expected a YAML or JSON file, or a folder of them")
    manifests: list[Mapping[str, Any]] = []
    bytes_left = MANIFESTS_BYTES_MAX
    for file in files:
        text = read_text(file, "manifests in YAML or JSON", bytes_max=bytes_left, pipes=file == path)
        bytes_left -= len(text)
        for manifest in documents(text, str(file)):
            items = manifest.get("items", [manifest]) if isinstance(manifest, dict) else []
            manifests += (item for item in items if isinstance(item, dict))
    return manifests
