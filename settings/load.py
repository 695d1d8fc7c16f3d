"""Loads and validates the settings of a stack; one SettingsError lists every problem.

`load` reads a stack file, `components/program.py` the configuration of the running Pulumi program;
both return the same `Settings` and raise the same `SettingsError`.
"""

import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Any, get_args

from pydantic import BaseModel, ValidationError, create_model

from muster.files.errors import FileError
from muster.files.reading import read_text
from muster.files.yaml_documents import document
from settings.credentials import (
    MASKED,
    credentials_beside_config,
    encrypted_settings,
    is_credential,
    plain_credentials,
)
from settings.keys import misspelt_keys, other_places, ours, unread_keys
from settings.model.split import SPLIT
from settings.model.stack import SECTIONS, Settings
from settings.problems import (
    Finding,
    Nothing,
    Path,
    Problem,
    SettingsError,
    findings,
    located,
    output_problem,
    warning,
    written,
)
from settings.rules import broken_rules, doubts
from settings.split import whole
from settings.stack_file_yaml import StackFileLoader

__all__ = ["Settings", "SettingsError", "config_of", "load", "parse", "warnings"]


def load(path: FilePath) -> Settings:
    """Reads `stacks/Pulumi.<stack>.yaml`, and the files of the stacks that deploy a platform with it.

    Raises SettingsError, also for a file that cannot be read.
    """
    platform = whole(config_of(path), path, config_of)
    return parse(platform.config, str(path), files=platform.files)


def config_of(path: FilePath) -> Mapping[str, object]:
    """Returns the `config` of a stack file. Raises SettingsError if the file cannot be read, or has
    credentials beside it."""
    file = str(path)
    if not os.path.exists(path):  # unlike Path.exists, no error for a name that no file can have
        raise _unreadable(file, "a stack file", "check the name; stack files are in stacks/")
    try:
        content = document(read_text(path, "a stack file", pipes=False), file, StackFileLoader)
    except FileError as error:
        raise _unreadable(file, "valid YAML", f"fix it: {error}") from None
    config = content.get("config") if isinstance(content, dict) else None
    if not isinstance(config, dict):
        raise _unreadable(file, "a mapping with the key `config`", "put the settings under `config:`")
    if exposed := list(credentials_beside_config(content)):
        raise SettingsError(_masked(finding, file) for finding in exposed)
    return config


def parse(
    config: Mapping[str, object],
    file: str,
    sections: Collection[str] = SECTIONS,
    secret: Collection[str] = (),
    files: Mapping[str, str] = MappingProxyType({}),
) -> Settings:
    """Validates the `config` of a stack file; keys of other packages (`gcp:region`, …) are only searched for
    credentials.

    `sections`: the existing sections, by their names in Settings; rules that read others are not checked.
    `secret`: keys whose values are encrypted in the file, and decrypted here.
    `files`: the file of each key that is not in `file`.
    """
    if exposed := list(plain_credentials(config, secret)):
        raise SettingsError(_masked(finding, file) for finding in exposed)
    own = {key: value for key, value in config.items() if ours(key)}
    try:
        unknown = list(_outputs(own))
        text = json.dumps(own, default=str)
    except (ValueError, RecursionError):  # an anchor that contains its own alias
        raise _unreadable(file, "values that do not contain themselves", "remove the alias (`*…`)") from None
    if unknown:
        raise SettingsError(output_problem(path, file) for path in unknown)
    problems = list(misspelt_keys(config))
    misspelt = {finding.path[0] for finding in problems}
    problems += unread_keys(key for key in config if key not in misspelt)
    if encrypted := list(encrypted_settings(own, secret)):
        raise SettingsError(_masked(finding, files.get(written(finding.path), file)) for finding in encrypted)
    try:
        settings = _partial(frozenset(sections)).model_validate_json(text, strict=True, context={})
    except ValidationError as error:
        unknown = [tuple(e["loc"]) for e in error.errors() if e["type"] == "extra_forbidden"]
        problems += findings(error, {path: _keys_beside(path) for path in unknown})
    else:
        problems += broken_rules(settings, sections)
        if "cluster" in sections:
            problems += other_places(config, settings.place)
    if problems:
        raw = {**config, **json.loads(text)}
        raise SettingsError(
            _masked(finding, file)
            if finding.path[0] in secret
            else _unexposed(located(finding, raw, files.get(str(finding.path[0]), file)))
            for finding in problems
        )
    return settings


def warnings(settings: Settings, sections: Collection[str] = SECTIONS) -> list[str]:
    """Returns warnings about valid settings: facts that are not known, and where sources disagree."""
    explicit = settings.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return [warning(doubt, explicit) for doubt in doubts(settings, sections)]


@cache
def _partial(sections: frozenset[str]) -> type[Settings]:
    """Returns the model of files with these sections: others are not required, and None."""
    absent: Any = {
        name: (field.annotation | None, None)
        for name, field in Settings.model_fields.items()
        if name not in sections and field.annotation is not None
    }
    return create_model("PartialSettings", __base__=Settings, **absent) if absent else Settings


def _unreadable(file: str, expected: str, remedy: str) -> SettingsError:
    return SettingsError([Problem(file, "", Nothing.NOTHING, expected, remedy)])


def _unexposed(problem: Problem) -> Problem:
    """Returns the problem without its value if that contains a credential, which logs of CI would keep."""
    text = problem.value if isinstance(problem.value, str) else json.dumps(problem.value, default=str)
    return replace(problem, value=MASKED) if is_credential(text) else problem


def _masked(finding: Finding, file: str) -> Problem:
    """Returns a problem that does not repeat the value, which logs of CI would keep."""
    return Problem(file, written(finding.path), MASKED, finding.expected, finding.remedy)


def _outputs(value: object, path: Path = ()) -> Iterator[Path]:
    """Yields the paths of Outputs. Without the SDK, which the sandbox does not import, there are none."""
    parts: Iterable[tuple[str | int, object]] = ()
    if isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    elif (pulumi := sys.modules.get("pulumi")) and isinstance(value, (pulumi.Output, pulumi.output.Unknown)):
        yield path
    for key, part in parts:
        yield from _outputs(part, (*path, key))


def _keys_beside(path: Path) -> list[str]:
    """Returns the keys of the model that rejected the last part of `path` as unknown."""
    models: list[type[BaseModel]] = [Settings]
    for part in path[:-1]:
        inner = [
            model
            for outer in models
            for field in outer.model_fields.values()
            if field.alias == part
            for model in _models_in(field.annotation)
        ]
        tagged = [model for model in models if _is_tagged(model, part)]
        models = tagged or inner or models  # an existing cluster has a key `gke`, which is also a kind
    names = [field.alias or name for model in models for name, field in model.model_fields.items()]
    return [*names, SPLIT] if models == [Settings] else names


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _is_tagged(model: type[BaseModel], part: str | int) -> bool:
    """Returns whether `part` is the tag by which pydantic chose `model` from a union."""
    kind = model.model_fields.get("kind")
    return kind is not None and part in get_args(kind.annotation)
