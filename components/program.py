"""The running Pulumi program: reads its configuration, and ends quietly when the engine cancels it."""

import json
import os
import signal
import threading
from pathlib import Path

import pulumi
from pulumi.runtime.config import CONFIG, get_config_env, get_config_secret_keys_env, is_config_secret

from settings.load import Settings, config_of, parse
from settings.model.split import Split
from settings.model.stack import NAMESPACE
from settings.split import whole

# Exit code of an error that is already reported (pulumi-language-python-exec).
ALREADY_REPORTED = 32


def from_config() -> tuple[Settings, Split | None]:
    """Reads the configuration of the running Pulumi program, and the files of the stacks that deploy a split
    platform with it. Raises SettingsError."""
    texts: dict[str, str] = {**get_config_env(), **CONFIG.get()}
    config = {key: _decoded(text) if key.startswith(NAMESPACE) else text for key, text in texts.items()}
    secret = [*get_config_secret_keys_env(), *filter(is_config_secret, texts)]
    file = Path("stacks", f"Pulumi.{pulumi.get_stack()}.yaml")
    platform = whole(config, file, config_of)
    return parse(platform.config, str(file), secret=secret, files=platform.files), platform.split


def _decoded(text: str) -> object:
    """Decodes a value of Pulumi's config: objects are JSON, plain values are text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def end_quietly_when_cancelled() -> None:
    """Exits immediately on SIGINT, which the engine sends to cancel a program, as on a policy violation.

    By default, Python would print a traceback of KeyboardInterrupt. There is nothing to clean up: created
    resources are in the engine's state.
    """
    if threading.current_thread() is threading.main_thread():  # in other threads, the host handles signals
        signal.signal(signal.SIGINT, lambda _signal, _frame: os._exit(ALREADY_REPORTED))
