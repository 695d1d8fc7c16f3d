"""Random objects of the field fuzzer: every field has a chance, seeds repeat, failures shrink."""

from random import Random

from components.admission.fields.schema import addresses, recorded
from tests.field_fuzzing.fuzz import Failure
from tests.field_fuzzing.shrink import shrunk
from tests.field_fuzzing.subjects import Subject, Subjects
from tests.field_fuzzing.values import SUBTREES, subtree_of


def test_a_seed_repeats_its_objects() -> None:
    first, second = (
        [subjects.subject(f"f{n}") for n in range(20)]
        for subjects in (Subjects(Random(7), "team-a"), Subjects(Random(7), "team-a"))
    )
    assert first == second


def test_each_generator_is_of_a_field() -> None:
    paths = {(owner, path) for address in addresses(recorded()) for owner, path in address.within}
    for owner, subtree in SUBTREES:
        assert any(o == owner and p.startswith(subtree) for o, p in paths), f"{owner}.{subtree}"


def test_every_kind_of_field_is_set() -> None:
    """Each owner's fields, and refused ones, are drawn."""
    subjects = Subjects(Random(1), "team-a")
    drawn = [path for n in range(6000) for path, _ in subjects.subject(f"f{n}").settings]
    for part in (
        "submissionMode",
        "gcsFaultTolerance",
        "externalIPs",
        "initContainers",
        "scaleStrategy",
        "metadata",
    ):
        assert any(part in path for path in drawn), part


def test_the_innermost_generator_makes_the_value() -> None:
    address = next(
        a
        for a in addresses(recorded())
        if str(a).startswith("RayCluster") and str(a).endswith("initContainers[].image")
    )
    path, _ = subtree_of(address) or ("", None)
    assert path == "spec.headGroupSpec.template.spec.initContainers[].image"


def test_a_failure_shrinks_to_what_causes_it() -> None:
    base = {"kind": "RayJob", "metadata": {"name": "job"}}
    subject = Subject(base, (("spec.a", 1), ("spec.b", 2), ("spec.c", 3)))
    failure = Failure("too much", subject, (("spec.d", 4),))

    def fails(smaller: Failure) -> bool:
        assert smaller.subject is not None
        return ("spec.b", 2) in smaller.subject.settings

    smallest = shrunk(failure, fails)
    assert smallest.subject is not None
    assert (smallest.subject.settings, smallest.edits) == ((("spec.b", 2),), ())
