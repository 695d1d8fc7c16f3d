"""The base class of the settings' models, and the types of names and quantities."""

import re
from fractions import Fraction
from typing import Annotated, Any, NoReturn

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError
from typing_extensions import Doc

from muster.admission.quantities import number
from settings.problems import did_you_mean

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
RESOURCE_NAME = re.compile(r"([a-z0-9.-]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
STANDARD_RESOURCE = re.compile(r"cpu|memory|ephemeral-storage|pods|hugepages-[0-9]+[KMG]i")
QUANTITY = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")


class Model(BaseModel):
    """A frozen section of the settings; keys are camelCase in the stack file, unknown keys are refused.

    The docstring under a field is the key's description in docs/settings.md.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, use_attribute_docstrings=True
    )


def refuse(expected: str, remedy: str) -> NoReturn:
    """Raises the error that `settings.problems` turns into a `Problem` with these two texts."""
    raise PydanticCustomError("refused", "{expected}", {"expected": expected, "remedy": remedy})


def refuse_bound_below_base(base_seconds: int, max_seconds: int) -> None:
    """Refuses a backoff whose upper bound is below its first value, which then has no effect."""
    if max_seconds < base_seconds:
        refuse(
            f"maxSeconds of at least baseSeconds, which is {base_seconds}",
            "raise `maxSeconds` or lower `baseSeconds`",
        )


def with_tuples(value: Any) -> Any:
    """Returns a value of JSON with tuples in place of its lists.

    Pydantic takes what a validator with mode "before" returns for Python, in which a list is not a tuple for
    strict validation.
    """
    if isinstance(value, dict):
        return {key: with_tuples(part) for key, part in value.items()}
    return tuple(with_tuples(part) for part in value) if isinstance(value, list) else value


def matching(pattern: re.Pattern[str], expected: str, remedy: str) -> AfterValidator:
    """Returns the validator of a text that must match the whole pattern."""

    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            refuse(expected, remedy)
        return text

    return AfterValidator(check)


def amount(quantity: str) -> Fraction:
    """Returns the exact value of a Kubernetes quantity ("500m" is 1/2).

    Raises ValueError if it is not a quantity. Exponents ("1e3"), which Kubernetes accepts, are not supported.
    """
    if not QUANTITY.fullmatch(quantity) or (value := number(quantity)) is None:
        raise ValueError(f"not a Kubernetes quantity: {quantity!r}")
    return value


def _dns_subdomain(name: str) -> str:
    if not DNS_SUBDOMAIN.fullmatch(name) or len(name) > 253:
        refuse(
            "an object name: up to 253 of a-z, 0-9, '-' and '.', no '-' or '.' at either end (RFC 1123)",
            "rename it",
        )
    return name


def _resource_name(name: str) -> str:
    if not RESOURCE_NAME.fullmatch(name) or not ("/" in name or STANDARD_RESOURCE.fullmatch(name)):
        standard = ("cpu", "memory", "ephemeral-storage", "pods")
        refuse(
            f"a resource: {', '.join(standard)} or one of a vendor, such as nvidia.com/gpu",
            did_you_mean(name, standard),
        )
    return name


def _quantity(text: str) -> str:
    if not QUANTITY.fullmatch(text):
        refuse("a Kubernetes quantity", 'write a number with an optional unit, such as 4, "500m" or "16Gi"')
    if amount(text) < 0:
        refuse("a quantity of 0 or more", "quotas cannot be negative; write 0 for none")
    return text


def whole_number_as_text(value: object) -> object:
    """Turns a whole number into text: YAML reads `4` as a number, but a quantity is a string."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


DnsLabel = Annotated[
    str,
    matching(
        DNS_LABEL, "a DNS label: 1 to 63 of a-z, 0-9 and '-', no '-' at either end (RFC 1123)", "rename it"
    ),
    Doc("DNS label"),
]
DnsSubdomain = Annotated[str, AfterValidator(_dns_subdomain), Doc("object name")]
ResourceName = Annotated[str, AfterValidator(_resource_name), Doc("resource")]
Quantity = Annotated[str, BeforeValidator(whole_number_as_text), AfterValidator(_quantity), Doc("quantity")]
