"""The settings of a platform that several stacks deploy, read from the files of all of them.

Each file has the sections of its stack's parts. They are checked together, so that rules between sections
hold, and a stack knows the settings that its resources depend on.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Annotated

from pydantic import Field, ValidationError

from settings.keys import ours
from settings.model.base import Model
from settings.model.split import PARTS, READ_BY, SECTIONS_OF, SPLIT, Part, Split
from settings.model.stack import NAMESPACE, PROJECT, Settings
from settings.problems import Finding, Problem, SettingsError, findings, located

SHARED = (SPLIT, f"{NAMESPACE}environment", PROJECT)
"""Keys that each file has: policies and providers read them from the configuration of their stack."""
ADMISSION = f"{NAMESPACE}admission"
Read = Callable[[FilePath], Mapping[str, object]]


@dataclass(frozen=True)
class Whole:
    """The configuration of a platform, without the split; `files` has the file of each key that is not in the
    stack's own. `split` is None if one stack deploys the platform."""

    config: Mapping[str, object]
    files: Mapping[str, str] = field(default_factory=dict)
    split: Split | None = None


def whole(config: Mapping[str, object], file: FilePath, read: Read) -> Whole:
    """Returns the configuration of all stacks that deploy the platform with that of `file`.

    read: returns the configuration of another file. Raises SettingsError if a section is not in the file of
    its part, or if the files disagree.
    """
    if SPLIT not in config:
        return Whole(config)
    split = _split(config, str(file))
    stack = stack_name(file)
    problems = [] if stack in split.stacks else [_not_listed(config, stack, str(file))]
    merged = {key: value for key, value in config.items() if key != SPLIT}
    files = dict[str, str]()
    problems += _misplaced(config, split, stack, str(file))
    for other in split.stacks:
        if other == stack:
            continue
        beside = file.with_name(f"Pulumi.{other}.yaml")
        theirs = read(beside)
        problems += _misplaced(theirs, split, other, str(beside))
        problems += _disagreements(config, theirs, str(file), str(beside))
        for key in theirs.keys() - config.keys():
            if ours(key):
                merged[key], files[key] = theirs[key], str(beside)
    problems += _of_kai(merged, split, files.get(ADMISSION, str(file)))
    problems += _deployer_of_pods(merged, config, split, str(file))
    if problems:
        raise SettingsError(problems)
    return Whole(merged, files, split)


def stack_name(file: FilePath) -> str:
    """Returns the stack of `Pulumi.<stack>.yaml`."""
    return file.name.removeprefix("Pulumi.").removesuffix(".yaml")


def fingerprint(settings: Settings, part: Part) -> str:
    """Returns 12 hexadecimal digits that change with the settings on which resources of the part depend."""
    read = settings.model_dump(mode="json", by_alias=True, exclude_unset=True, include=set(READ_BY[part]))
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()[:12]


class _File(Model):
    split: Annotated[Split, Field(alias=SPLIT)]


def _split(config: Mapping[str, object], file: str) -> Split:
    try:
        return _File.model_validate({SPLIT: config[SPLIT]}, strict=True).split
    except ValidationError as error:
        keys = [name.alias or key for key, name in Split.model_fields.items()]
        unknown = {tuple(e["loc"]): keys for e in error.errors() if e["type"] == "extra_forbidden"}
        raise SettingsError(located(finding, config, file) for finding in findings(error, unknown)) from None


def _not_listed(config: Mapping[str, object], stack: str, file: str) -> Problem:
    finding = Finding((SPLIT,), f"the stack {stack} of this file as that of a part", "name it in the split")
    return located(finding, config, file)


def _of_kai(config: Mapping[str, object], split: Split, file: str) -> Iterator[Problem]:
    """Yields a problem for engine kai, whose policies name the tenants' queues and rewrite objects."""
    admission = config.get(ADMISSION)
    if isinstance(admission, Mapping) and admission.get("engine") == "kai" and split.cluster != split.tenants:
        expected = "muster or kueue: the policies of engine kai name the tenants' queues and rewrite objects"
        finding = Finding((ADMISSION, "engine"), expected, "let one stack deploy the cluster and the tenants")
        yield located(finding, config, file)


def _deployer_of_pods(
    merged: Mapping[str, object], config: Mapping[str, object], split: Split, file: str
) -> Iterator[Problem]:
    """Yields a problem for a deployer that pods can act as: they would have its rights in all namespaces."""
    project = merged.get(PROJECT)
    accounts = {
        f"{account}@{project}.iam.gserviceaccount.com"
        for account in _texts(merged, "muster:tenants", "account")
    }
    accounts.update(_texts(merged, "muster:pools", "serviceAccount"))
    if split.tenants_deployer in accounts:
        expected = "an account of no tenant and no node: pods that act as it could deploy all tenants"
        finding = Finding((SPLIT, "tenantsDeployer"), expected, "create an account that only deploys")
        yield located(finding, config, file)


def _texts(config: Mapping[str, object], section: str, key: str) -> Iterator[str]:
    """Yields the texts with this key in a section, which may be invalid."""
    below: list[object] = [config.get(section)]
    while below:
        value = below.pop()
        if isinstance(value, Mapping):
            below += [inner for name, inner in value.items() if name != key]
            if isinstance(text := value.get(key), str):
                yield text
        elif isinstance(value, list):
            below += value


def _misplaced(config: Mapping[str, object], split: Split, stack: str, file: str) -> Iterator[Problem]:
    """Yields a problem for each section of a part that another stack deploys."""
    for part in PARTS:
        for section in SECTIONS_OF[part]:
            key = Settings.model_fields[section].alias or section
            owner = split.stack_of(part)
            if key in config and owner != stack:
                expected = f"no value: stack {owner} deploys the part {part}, to which it belongs"
                finding = Finding((key,), expected, f"move it to Pulumi.{owner}.yaml")
                yield located(finding, config, file)


def _disagreements(
    config: Mapping[str, object], theirs: Mapping[str, object], file: str, beside: str
) -> Iterator[Problem]:
    for key in SHARED:
        if config.get(key) != theirs.get(key):
            finding = Finding((key,), f"the value of {file}", "write the same value in both files")
            yield located(finding, theirs, beside)
