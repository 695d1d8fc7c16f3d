"""Records all cases into the cache, once for each version of Kueue and of this recorder."""

import hashlib
import json
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.conformance.recorder import (
    flavors,
    neutral,
    preemption,
    provisioning,
    queues,
    quota,
    scheduling,
    topology,
)
from tests.conformance.recorder.place import Place, PlaceError, with_import
from tools.bootstrap import exclusive
from tools.toolchain.golang import Go, find_go, module_directory
from tools.toolchain.paths import cache_directory
from tools.toolchain.steps import StepError
from tools.toolchain.tools import KUEUE

HERE = Path(__file__).parent
PLACES: tuple[Place, ...] = tuple(
    place
    for module in (scheduling, preemption, flavors, topology, quota, queues, provisioning)
    for place in module.PLACES
)
TIMEOUT = "1h"
"""The limit for each package; the tests of the scheduler take ten minutes on a busy machine."""
OBSERVABILITY = "UnadmittedWorkloadsObservability"
"""A gate that only renames reasons; the run without it is taken."""

Progress = Callable[[str], None]


def cached_cases() -> Path | None:
    """Returns the folder of the recorded cases, one folder a suite, or None if the cache has none."""
    folder = _folder()
    return folder if folder.is_dir() else None


def recorded_cases(progress: Progress = print) -> Path:
    """Returns the folder of the recorded cases; records them if the cache has none.

    Raises: StepError if Go or Kueue's module is missing, if a test of Kueue fails, or if Kueue's source is
    not as the recorder expects it.
    """
    folder = _folder()
    with exclusive(folder.parent / "lock", "Kueue's cases"):
        if not folder.is_dir():
            go = find_go()
            module = module_directory(go, "kueue", "sigs.k8s.io/kueue")
            progress(f"conformance: recording the cases of Kueue {KUEUE}'s tests, minutes ...")
            began = time.monotonic()
            _record(go, module, folder)
            count = len(list(folder.glob("*/*.json")))
            progress(f"conformance: recorded {count} cases in {time.monotonic() - began:.0f} s ({folder})")
    return folder


def all_suites() -> set[str]:
    """Returns the test functions of Kueue whose cases are recorded."""
    return {suite for place in PLACES for suite in place.all_suites}


def _folder() -> Path:
    return cache_directory() / "conformance" / f"{KUEUE}-{_key()}"


def _key() -> str:
    """Returns a digest of the recorder's sources."""
    digest = hashlib.sha256()
    for path in sorted([*HERE.glob("*.py"), *HERE.glob("*.go")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _record(go: Go, module: Path, folder: Path) -> None:
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="muster-kueue-") as directory:
        copy, recording = Path(directory, "kueue"), Path(directory, "recording")
        recording.mkdir()
        _copy(module, copy)
        try:
            add_recorder(copy, PLACES)
        except PlaceError as error:
            raise StepError(
                f"the tests of Kueue {KUEUE} are not as tests/conformance/recorder expects: {error}",
                try_this="adapt the place of this test to Kueue's version",
            ) from error
        _run(go, copy, recording, log=folder.with_name(f"{folder.name}.log"))
        for suite in sorted(all_suites()):
            _write(suite, recording / f"{suite}.jsonl", unfinished)
    unfinished.rename(folder)


def _copy(module: Path, copy: Path) -> None:
    """Copies the module out of the module cache, which is read-only."""
    shutil.copytree(module, copy, copy_function=shutil.copyfile)
    for path in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        path.chmod(0o755)


def add_recorder(copy: Path, places: Iterable[Place]) -> None:
    """Adds the recorder's package and its calls. Raises PlaceError if a place is not found."""
    package = copy / "pkg" / "musterrecorder"
    package.mkdir()
    shutil.copyfile(HERE / "recorder.go", package / "recorder.go")
    by_file: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        by_file[place.file].append(place)
    for file, of_file in by_file.items():
        path = copy / file
        if not path.is_file():
            raise PlaceError(f"{file} is missing")
        source = path.read_text()
        for place in of_file:
            source = place.insert(source)
        path.write_text(with_import(source, file))


def _run(go: Go, copy: Path, recording: Path, log: Path) -> None:
    """Runs the tests with the calls; -trimpath shares the build cache with the sandbox's tools."""
    names = "|".join(sorted(all_suites()))
    packages = sorted({place.package for place in PLACES})
    flags = ("-trimpath", "-vet=off", "-count=1", f"-timeout={TIMEOUT}", "-run", f"^({names})$")
    argv = [str(go.executable), "test", *flags, *packages]
    environment = {**go.environment, "MUSTER_RECORDING": str(recording)}
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        code = subprocess.call(argv, cwd=copy, env=environment, stdout=output, stderr=subprocess.STDOUT)
    if code != 0:
        raise StepError(
            "Kueue's tests could not be run to record their cases",
            log=log,
            try_this="if modules are missing, make the Go module proxy reachable (go env GOPROXY)",
        )


def _write(suite: str, recording: Path, folder: Path) -> None:
    if not recording.is_file():
        raise StepError(f"{suite} of Kueue {KUEUE} has recorded no case")
    by_name: dict[str, list[Any]] = defaultdict(list)
    for line in recording.read_text().splitlines():
        run = json.loads(line)
        by_name[run["name"]].append(run)
    (folder / suite).mkdir(parents=True)
    for number, name in enumerate(sorted(by_name)):
        text = json.dumps(neutral_case(by_name[name], suite), indent=1, sort_keys=True)
        (folder / suite / f"{number:03}.json").write_text(text + "\n")


def neutral_case(runs: list[Mapping[str, Any]], suite: str) -> dict[str, Any]:
    """Returns a case in the form of `tests.conformance.case`, from its runs with different feature gates."""
    place = next(place for place in PLACES if suite in place.all_suites)
    run = next((run for run in runs if OBSERVABILITY not in run["gatesDifferingFromDefault"]), runs[0])
    parts = {key: value or {} for key, value in run["parts"].items() if key != "now"}
    converted = place.convert(parts)
    kinds = converted["input"].get("objects") or []
    case = neutral.cleaned(neutral.shifted(converted, run["parts"].get("now")))
    if kinds:
        for obj, recorded in zip(case["input"]["objects"], kinds, strict=True):
            obj["kind"] = recorded["kind"]
    return {
        "suite": suite,
        "name": run["name"],
        "featureGates": run["featureGates"] or {},
        "now": neutral.NOW.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "runs": [{"gatesDifferingFromDefault": each["gatesDifferingFromDefault"]} for each in runs],
        **case,
    }
