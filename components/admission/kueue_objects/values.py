"""CEL for the values in Kueue's objects: quantities and labels."""

from components.admission.ray import Policy
from muster.objects.names import KUEUE_GROUP, KUEUE_VERSION

QUANTITY_LENGTH_MAX = 64
# Kueue counts in 64-bit integers (millicores of cpu) and clamps larger values.
CPU_MAX, AMOUNT_MAX = "1P", "1E"
# Updates of metadata and status of invalid objects must pass, so that finalizers can be removed.
CHANGED = 'request.operation == "CREATE" || object.?spec != oldObject.?spec'


def kueue_policy(resource: str, rules: dict[str, str], variables: dict[str, str] | None = None) -> Policy:
    """Returns a policy with the rules that Kueue's webhook enforces on a resource."""
    return Policy(
        name=f"muster-{resource}-are-valid",
        group=KUEUE_GROUP,
        version=KUEUE_VERSION,
        resources=(resource,),
        operations=("CREATE", "UPDATE"),
        rules=rules,
        condition=CHANGED,
        variables=variables or {},
        reason="Invalid",
    )


def is_amount(value: str, resource: str) -> str:
    """CEL for: an int-or-string is a quantity of at least 0 that Kueue can count."""
    text = f"string({value})"
    most = f'quantity({resource} == "cpu" ? "{CPU_MAX}" : "{AMOUNT_MAX}")'
    return (
        f"size({text}) <= {QUANTITY_LENGTH_MAX} && isQuantity({text}) && sign(quantity({text})) >= 0 && "
        f"quantity({text}).compareTo({most}) <= 0"
    )


def is_weight(value: str) -> str:
    """Returns CEL for: the value is a valid weight of fair sharing."""
    text = f"string({value})"
    small = f'sign(quantity({text})) == 0 || quantity({text}).isGreaterThan(quantity("1n"))'
    return f"""{is_amount(value, '""')} && ({small})"""


def are_labels(labels: str) -> str:
    """CEL for: a map of strings is valid as labels."""
    return (
        f"{labels}.all(k, !format.qualifiedName().validate(k).hasValue() && "
        f"!format.labelValue().validate({labels}[k]).hasValue())"
    )


def is_label_key(key: str) -> str:
    """Returns CEL for: the value is a valid label key."""
    return f"!format.qualifiedName().validate({key}).hasValue()"


def fair_sharing() -> dict[str, str]:
    """Returns the rule for spec.fairSharing.weight."""
    weight = "object.?spec.?fairSharing.?weight"
    return {
        f"!{weight}.hasValue() || ({is_weight(f'{weight}.value()')})": (
            "spec.fairSharing.weight must be 0, or a quantity of more than 1n (10^-9) and at most "
            f"{AMOUNT_MAX}"
        )
    }
