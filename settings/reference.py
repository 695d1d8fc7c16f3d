"""Generates the settings reference (docs/settings.md) from the models: keys, values and defaults."""

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, MinLen
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import Doc

from settings.model.split import SPLIT, Split
from settings.model.stack import Settings

HEAD = """# Settings

Every key of a stack file (`stacks/Pulumi.<stack>.yaml`, under `config:`). `make docs` generates this page
from the models in `settings/model/`: a key's description is the docstring under its field.

An invalid value is refused before anything is deployed, with its path, what is expected and what to do;
`make preview STACK=dev` checks a stack. Keys of other packages (`gcp:region`, …) are allowed.
What several settings must fulfil together is in [settings-rules.md](settings-rules.md).
[An example](#an-example) is at the end.
"""
TABLE = "| key | value | default | description |\n|---|---|---|---|"
PLAIN = {str: "text", int: "whole number", bool: "`true` or `false`", float: "number", object: "any value"}

ModelType = type[BaseModel]


@dataclass(frozen=True)
class ModelSection:
    """A model, titled with its first path in the file; `also` are its other paths."""

    title: str
    depth: int
    also: list[str] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        """The anchor of its heading."""
        return anchor(self.title)


def reference() -> str:
    """Returns the whole page as Markdown."""
    sections: dict[ModelType, ModelSection] = {Settings: ModelSection("The whole file", 1)}
    sections[Split] = ModelSection(f"`{SPLIT}`", 2)
    _find(Settings, "", 2, sections)
    anchors = {model: section.anchor for model, section in sections.items()}
    pages = (_section(model, section, anchors) for model, section in sections.items())
    return "\n".join([HEAD, *pages, "## An example\n", f"```yaml\n{EXAMPLE}```", ""])


def anchor(heading: str) -> str:
    """Returns GitHub's anchor of a heading: letters, digits and dashes."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _find(model: ModelType, prefix: str, depth: int, sections: dict[ModelType, ModelSection]) -> None:
    """Adds a section for each model inside `model`, in the order of its keys."""
    for name, key in model.model_fields.items():
        place = f"{prefix}{key.alias or name}"
        for path, inner in models_inside(key.annotation, place):
            title = f"`{path}`" + _kind(inner)
            if inner in sections:
                sections[inner].also.append(title)
            else:
                sections[inner] = ModelSection(title, depth)
                _find(inner, f"{path}.", 3, sections)


def _kind(model: ModelType) -> str:
    """Returns the discriminator of a model in a union: the only value of its key `kind`."""
    values = get_args(model.model_fields["kind"].annotation) if "kind" in model.model_fields else ()
    return f", kind {values[0]}" if len(values) == 1 else ""


def _section(model: ModelType, section: ModelSection, anchors: Mapping[ModelType, str]) -> str:
    prose = " ".join(inspect.cleandoc(model.__doc__ or "").split())
    lines = [f"{'#' * max(section.depth, 2)} {section.title}\n", f"{prose}\n"]
    if section.also:
        lines.append(f"The same at {', '.join(section.also)}.\n")
    lines.append(TABLE)
    for name, key in model.model_fields.items():
        description = " ".join((key.description or "").split())
        value = described(key.annotation, anchors, key.metadata)
        cells = (f"`{key.alias or name}`", value, _default(key), description)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join([*lines, ""])


def _default(key: FieldInfo) -> str:
    if key.is_required():
        return "required"
    value = key.get_default(call_default_factory=True, validated_data={})
    if value is None or value in ((), {}):
        return "none"
    if isinstance(value, BaseModel):
        if value == _bare(type(value)):
            return "its defaults"
        value = value.model_dump(by_alias=True)
    return f"`{json.dumps(value)}`"


def _bare(model: ModelType) -> BaseModel | None:
    """Returns the model with its defaults; None if it has required keys."""
    try:
        return model()
    except ValidationError:
        return None


def described(annotation: Any, anchors: Mapping[ModelType, str], metadata: Iterable[Any] = ()) -> str:
    """Describes the values of a key with this annotation; `anchors` are of the models' sections."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return described(arguments[0], anchors, [*_flat(arguments[1:]), *metadata])
    if origin is Literal:
        return _either([f"`{choice}`" for choice in arguments])
    if origin in (Union, UnionType):
        words = (described(argument, anchors) for argument in arguments if argument is not NoneType)
        return _either(list(dict.fromkeys(words)))
    if origin is tuple:
        return f"list of: {described(arguments[0], anchors)}{_bounds(metadata)}"
    if origin is dict:
        key, value = (described(argument, anchors) for argument in arguments)
        return f"mapping of {key} to: {value}{_bounds(metadata)}"
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return f"[these keys](#{anchors[annotation]})"
    word = next((item.documentation for item in metadata if isinstance(item, Doc)), PLAIN.get(annotation))
    assert word, f"every type must have a description: add {annotation} to PLAIN"
    return word + _bounds(metadata)


def _flat(metadata: Iterable[Any]) -> Iterator[Any]:
    """Yields bounds one by one: bounds of a type inside another (`… | None`) are in its `Field(…)`."""
    for item in metadata:
        yield from item.metadata if isinstance(item, FieldInfo) else (item,)


def _either(words: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _bounds(metadata: Iterable[Any]) -> str:
    least, most, parts = None, None, []
    for bound in metadata:
        match bound:
            case Ge(ge=value):
                least = value
            case Le(le=value):
                most = value
            case Gt(gt=value):
                parts.append(f"more than {value}")
            case MinLen(min_length=fewest):
                parts.append(f"at least {fewest}")
    if least is not None and most is not None:
        parts.append(f"{least} to {most}")
    elif least is not None:
        parts.append(f"{least} or more")
    elif most is not None:
        parts.append(f"{most} or less")
    return f" ({', '.join(parts)})" if parts else ""


def models_inside(annotation: Any, place: str) -> Iterator[tuple[str, ModelType]]:
    """Yields the models inside a field's type, each with its path: `pools[]`, `quotas.<name>`, …"""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from models_inside(arguments[0], place)
    elif origin in (Union, UnionType):
        for argument in arguments:
            yield from models_inside(argument, place)
    elif origin is tuple:
        yield from models_inside(arguments[0], f"{place}[]")
    elif origin is dict:
        yield from models_inside(arguments[1], f"{place}.<name>")
    elif inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        yield place, annotation


# The example at the end of the page, which the tests load as a stack.
"""The example at the end of the settings reference, which the tests load as a stack."""

EXAMPLE = """config:
  gcp:project: acme-ml-prod

  muster:network: {name: ray-prod}
  muster:cluster:
    kind: gke
    name: ray-prod
    location: us-west1
    channel: regular
    labels: {environment: prod, cost-center: ml-platform}
    securityGroup: gke-security-groups@example.com
    maintenance:
      window: {start: "02:00", hours: 6, days: [SA, SU]}

  muster:pools:
    - name: system # KubeRay, the controller, and Ray's heads
      flavor: cpu
      machineType: e2-standard-8
      nodes: {min: 3, max: 12}
    - name: l4
      machineType: g2-standard-12
      gpu: {type: nvidia-l4, count: 1}
      provisioning: queued
      nodes: {max: 16}

  muster:controller: {build: {}}
  muster:admission:
    engine: muster
    priorities: {inference: 10000, training: 1000}

  muster:queues:
    cohorts:
      - name: company
    clusterQueues:
      - name: vision
        cohort: company
        quotas:
          cpu: {cpu: 32, memory: 128Gi}
          l4: {cpu: 96, memory: 384Gi, nvidia.com/gpu: {nominal: 8, borrowingLimit: 8}}
        preemption: {withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}

  muster:tenants:
    - namespace: vision
      queues: {user-queue: vision}
      queueRequired: true
      group: vision@example.com
      resourceQuota: {count/rayjobs.ray.io: 500}
      limits:
        default: {cpu: 2, memory: 4Gi}
        defaultRequest: {cpu: 100m, memory: 256Mi}
      rayAuth: token
      identity: {}
      checkpoints: {bucket: acme-vision-checkpoints, deleteAfterDays: 30}
"""
