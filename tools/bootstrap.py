"""Creates the locked Python environment, then runs `python -m MODULE ARGUMENTS` in it.

Every make target starts here, so this file uses only the standard library, and its syntax is valid in old
Pythons, so that the version check below is executed. The environment is in the cache, outside the checkout,
under a key derived from requirements/all.lock and the Python version.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - the only file that older Pythons read
    sys.exit(
        f"Muster needs Python 3.11 or newer; this is {sys.version.split()[0]} ({sys.executable}).\n"
        "try: make PYTHON=/path/to/python3.11 ..."
    )

import fcntl
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
LOCK = CHECKOUT / "requirements" / "all.lock"
SECONDS_VARIABLE = "MUSTER_ENVIRONMENT_SECONDS"
"""Environment variable with the duration of this step in seconds, which the sandbox shows as its first
step."""


class BootstrapError(Exception):
    """The environment can't be created; the message contains the cause and what to try."""


def cache_directory() -> Path:
    """Returns the cache folder, which outlives a checkout: $MUSTER_CACHE, else `muster` in the user's cache
    folder."""
    if chosen := os.environ.get("MUSTER_CACHE"):
        return Path(chosen).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().resolve() / "muster"


def environment_key(lock_text: str, python_version: str) -> str:
    """Returns the folder name of the environment for these locked requirements and this Python version."""
    digest = hashlib.sha256(f"{python_version}\n{lock_text}".encode()).hexdigest()
    return f"venv-{python_version}-{digest[:16]}"


def pinned_requirement(lock_text: str, package: str) -> str:
    """Returns the lines of one package in a lock file: its exact version and its hashes."""
    match = re.search(rf"(?m)^{re.escape(package)}==.*(?:\n[ ]+--hash=.*)+", lock_text)
    if match is None:
        raise BootstrapError(f"{LOCK} does not pin {package} with hashes; regenerate it with: make lock")
    return match.group(0) + "\n"


@contextmanager
def exclusive(lock_file: Path, waiting_for: str) -> Iterator[None]:
    """Holds a lock that excludes other runs of Muster on this machine; the kernel releases it if the process
    dies."""
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    with lock_file.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another run that creates {waiting_for} ...", file=sys.stderr, flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run(argv: list[str], log: Path, **variables: str) -> None:
    """Runs one command with its output in the log; raises BootstrapError with the end of the log."""
    with log.open("a") as output:
        output.write(f"$ {' '.join(argv)}\n")
        output.flush()
        code = subprocess.call(argv, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **variables})
    if code != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise BootstrapError(
            f"{tail}\n\nThe command above failed (exit code {code}).\nlog: {log}\n"
            "try: check that the package index is reachable (pip config list) and that the disk has "
            "1 GB free, then run this again"
        )


def pip_settings_for_uv(python: Path) -> dict[str, str]:
    """Returns pip's index and certificates as variables for uv, which does not read pip.conf."""
    listed = subprocess.run([str(python), "-m", "pip", "config", "list"], capture_output=True, text=True)
    settings: dict[str, str] = {}
    for line in listed.stdout.splitlines():
        name, _, value = line.partition("=")
        variable = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "cert": "SSL_CERT_FILE"}
        if (uv_name := variable.get(name.rpartition(".")[2])) and uv_name not in os.environ:
            settings[uv_name] = value.strip("'")
    return settings


def make_environment(environment: Path, lock_text: str) -> None:
    """Creates the environment in place; the stamp, written last, marks it as complete.

    A venv contains absolute paths, so it can't be created under another name and renamed.
    """
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        raise BootstrapError(
            f"{sys.executable} lacks venv or pip.\n"
            "try: install them (Debian: apt-get install python3-venv) or use make PYTHON=/other/python3"
        )
    began = time.monotonic()
    shutil.rmtree(environment, ignore_errors=True)
    environment.parent.mkdir(parents=True, exist_ok=True)
    log = environment.with_name(environment.name + ".log")
    log.write_text("")
    python = environment / "bin" / "python"
    run([sys.executable, "-m", "venv", str(environment)], log)
    uv_requirement = environment / "uv.lock"
    uv_requirement.write_text(pinned_requirement(lock_text, "uv"))
    run([str(python), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(uv_requirement)], log)
    uv = [str(python), "-m", "uv", "pip", "install", "--python", str(python)]
    run([*uv, "--require-hashes", "-r", str(LOCK)], log, **pip_settings_for_uv(python))
    stamp(environment).write_text(f"{time.monotonic() - began:.1f}\n")


def stamp(environment: Path) -> Path:
    """Returns the file that marks the environment as complete; it contains the duration of its creation in
    seconds."""
    return environment / "muster-complete"


def ensure_environment() -> Path:
    """Returns the environment's Python; creates the environment if it does not exist."""
    lock_text = LOCK.read_text()
    version = ".".join(map(str, sys.version_info[:3]))
    environment = cache_directory() / "environments" / environment_key(lock_text, version)
    with exclusive(environment.parent / "lock", "the Python environment"):
        if not stamp(environment).exists():
            print("environment: locked Python packages, about 15 s ...", file=sys.stderr, flush=True)
            began = time.monotonic()
            make_environment(environment, lock_text)
            took = time.monotonic() - began
            print(f"environment: created in {took:.1f} s ({environment})", file=sys.stderr, flush=True)
    return environment / "bin" / "python"


def without_sandboxes(path: str) -> str:
    """Returns the PATH without the folders that `make env` adds, as they contain commands of a single
    sandbox."""
    entries = path.split(os.pathsep)
    return os.pathsep.join(e for e in entries if not re.search(r"/\.muster/[^/]+/bin/?$", e))


def check_platform() -> None:
    """Prints what works on this platform unless everything does; exits with it if no sandbox can run."""
    sys.path.insert(0, str(CHECKOUT))
    from tools.platforms import support  # it needs no packages either

    here = support(platform.system(), platform.machine())
    if not here.sandbox:
        sys.exit(f"{here.note}\ntry: a Linux virtual machine for make up")
    if here.note:
        print(here.note, flush=True)


def main(arguments: list[str]) -> None:
    """Replaces this process with `python -m` and the arguments; does not return."""
    if not arguments:
        sys.exit("usage: python3 tools/bootstrap.py MODULE [ARGUMENT ...]; for example: sandbox up --help")
    if arguments[:2] == ["sandbox", "up"]:
        check_platform()
    began = time.monotonic()
    try:
        python = ensure_environment()
    except BootstrapError as error:
        sys.exit(f"\nenvironment: failed\n{error}")
    except KeyboardInterrupt:
        sys.exit("\nenvironment: interrupted; the next run recreates it")
    os.environ["PYTHONPATH"] = str(CHECKOUT)
    os.environ["PATH"] = without_sandboxes(os.environ.get("PATH", os.defpath))
    # Pulumi's SDKs take seconds to compile. Their bytecode is kept with the environment, even if the user
    # disabled bytecode in the checkout.
    os.environ["PYTHONPYCACHEPREFIX"] = str(python.parents[1] / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ[SECONDS_VARIABLE] = f"{time.monotonic() - began:.3f}"
    os.execv(python, [str(python), "-m", *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
