"""The running Pulumi program: reads its configuration, and ends quietly when the engine cancels it."""

import json
import os
import signal
import threading

import pulumi
from pulumi.runtime.config import CONFIG, get_config_env, get_config_secret_keys_env, is_config_secret

from settings.load import Settings, parse
from settings.model.stack import NAMESPACE

# Exit code of an error that is already reported (pulumi-language-python-exec).
ALREADY_REPORTED = 32


def from_config() -> Settings:
    """Reads the configuration of the running Pulumi program. Raises SettingsError."""
    texts: dict[str, str] = {**get_config_env(), **CONFIG.get()}
    config = {key: _decoded(text) if key.startswith(NAMESPACE) else text for key, text in texts.items()}
    secret = [*get_config_secret_keys_env(), *filter(is_config_secret, texts)]
    return parse(config, f"stacks/Pulumi.{pulumi.get_stack()}.yaml", secret=secret)


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
