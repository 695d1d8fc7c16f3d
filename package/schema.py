"""The package's schema, from the models of the components' inputs and outputs.

https://www.pulumi.com/docs/iac/guides/building-extending/packages/schema/
"""

import inspect
import json
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from muster import __version__
from package.base import Exposed, Later, field_name
from package.components import EXPOSED
from settings.model.base import Model
from settings.reference import described, models_inside

NAME = "muster"
FILE = Path(__file__).parent / "schema.json"
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}
PROVIDERS = ("gcp", "kubernetes")
LANGUAGES = ("csharp", "go", "java", "nodejs", "python")

Schema = dict[str, Any]


def schema() -> Schema:
    """Returns the package's schema: components, and the types of their inputs and outputs."""
    types: dict[str, Schema] = {}
    return {
        "name": NAME,
        "version": __version__,
        "displayName": "Muster",
        "description": "GKE with queued GPU pools, KubeRay, queues, tenants and Muster's controller.",
        "license": "Apache-2.0",
        "language": {language: {"respectSchemaVersion": True} for language in LANGUAGES},
        "resources": {_token(name): _component(exposed, types) for name, exposed in EXPOSED.items()},
        "types": dict(sorted(types.items())),
    }


def text() -> str:
    """Returns the content of schema.json."""
    return json.dumps(schema(), indent=2) + "\n"


def _component(exposed: type[Exposed], types: dict[str, Schema]) -> Schema:
    inputs, outputs = _object(exposed.inputs, types, plain=True), _object(exposed.outputs, types, plain=False)
    return {
        "isComponent": True,
        "description": inspect.getdoc(exposed),
        "inputProperties": inputs["properties"],
        "requiredInputs": inputs["required"],
        "properties": outputs["properties"],
        "required": outputs["required"],
    }


def _object(model: type[Model], types: dict[str, Schema], *, plain: bool) -> Schema:
    properties, required = {}, []
    for field, info in model.model_fields.items():
        name = field_name(model, field)
        later = any(isinstance(mark, Later) for mark in info.metadata)
        properties[name] = _property(info, types, plain=plain and not later)
        if info.is_required():
            required.append(name)
    return {"type": "object", "properties": properties, "required": sorted(required)}


def _property(info: FieldInfo, types: dict[str, Schema], *, plain: bool) -> Schema:
    text = " ".join((info.description or "").split())
    if not list(models_inside(info.annotation, "")):
        text += f" Value: {described(info.annotation, {}, info.metadata)}."
    schema = {**_type(info.annotation, types, plain=plain), "description": text}
    return {**schema, "plain": True} if plain else schema


def _type(annotation: Any, types: dict[str, Schema], *, plain: bool) -> Schema:
    """Returns the type of an annotation; adds the models in it to `types`."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(arguments[0], types, plain=plain)
    if origin is Literal:
        return {"type": "string"}
    if origin in (Union, UnionType):
        options = [_type(part, types, plain=plain) for part in arguments if part is not NoneType]
        return options[0] if len(options) == 1 else {"oneOf": options}
    if origin is tuple:
        return {"type": "array", "items": _part(arguments[0], types, plain=plain)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _part(arguments[1], types, plain=plain)}
    if inspect.isclass(annotation) and issubclass(annotation, Model):
        return _reference(annotation, types, plain=plain)
    return {"type": PLAIN[annotation]}


def _part(annotation: Any, types: dict[str, Schema], *, plain: bool) -> Schema:
    schema = _type(annotation, types, plain=plain)
    return {**schema, "plain": True} if plain else schema


def _reference(model: type[Model], types: dict[str, Schema], *, plain: bool) -> Schema:
    # An SDK has the arguments of components and of types in one module.
    name = f"{model.__name__}Settings" if model.__name__ in EXPOSED else model.__name__
    if (token := _token(name)) not in types:
        types[token] = {}  # a type may be in itself
        types[token] |= {"description": inspect.getdoc(model), **_object(model, types, plain=plain)}
    return {"$ref": f"#/types/{token}"}


def _token(name: str) -> str:
    return f"{NAME}:index:{name}"
