"""CEL that compares the metadata of an object before and after an update."""

from collections.abc import Iterable


def same_of_prefixes(what: str, prefixes: Iterable[str], exempt: str = "") -> str:
    """CEL for: no label or annotation (`what`: labels, annotations) with one of these prefixes changes,
    except the one with the key `exempt`."""
    new, old = (f"{root}.metadata.?{what}.orValue({{}})" for root in ("object", "oldObject"))
    listed = ", ".join(f'"{prefix}"' for prefix in prefixes)
    free = f'k == "{exempt}" || ' if exempt else ""
    return " && ".join(
        f"{a}.all(k, {free}![{listed}].exists(p, k.startsWith(p)) || (k in {b} && {a}[k] == {b}[k]))"
        for a, b in ((new, old), (old, new))
    )


def same_owners_and_finalizers() -> str:
    """Returns CEL for: owner references and finalizers do not change."""
    return " && ".join(
        f"object.metadata.?{key}.orValue([]) == oldObject.metadata.?{key}.orValue([])"
        for key in ("ownerReferences", "finalizers")
    )


def same_except(new: str, old: str, exempt: str) -> str:
    """CEL for: two objects have the same fields, except each field `k` for which `exempt` is true."""
    return " && ".join(
        f"dyn({first}).all(k, {exempt} || (k in dyn({second}) && dyn({first})[k] == dyn({second})[k]))"
        for first, second in ((new, old), (old, new))
    )
