import pytest

from muster.admission import Flavor, PodSet, Requirement, TaintEffect
from muster.admission.nodes import mismatch
from tests.unit.admission.builders import pods, taint, tolerate

L4 = Flavor("l4", {"pool": "l4", "gpus": "4"})
TAINTED = Flavor("l4", taints=(taint("gpu", "present"),))
SELF_TOLERANT = Flavor("l4", taints=(taint("gpu", "present"),), tolerations=(tolerate("gpu", "present"),))
SOFT = Flavor("l4", taints=(taint("gpu", "present", TaintEffect.PREFER_NO_SCHEDULE),))
COUNTED = Flavor("l4", taints=(taint("hosts", "4"),))
HARD = Flavor("l4", taints=(taint("gpu", "present", TaintEffect.NO_EXECUTE),))


def where(key: str, operator: str, *values: str) -> PodSet:
    return pods(affinity=((Requirement(key, operator, values),),))


def tolerant(key: str, value: str, operator: str = "Equal", effect: TaintEffect | None = None) -> PodSet:
    return pods(tolerations=(tolerate(key, value, operator, effect),))


NEITHER = (Requirement("pool", "In", ("cpu",)),)
EITHER = (Requirement("pool", "In", ("l4",)), Requirement("gpus", "Gt", ("2",)))
ELSEWHERE = (Requirement("zone", "In", ("a",)),)

CASES = {  # pod set, flavor, matches
    "nothing asked": (pods(), L4, True),
    "selector matches": (pods(node_selector={"pool": "l4"}), L4, True),
    "selector differs": (pods(node_selector={"pool": "cpu"}), L4, False),
    "selector on a key of others": (pods(node_selector={"zone": "a"}), L4, True),
    "In": (where("pool", "In", "cpu", "l4"), L4, True),
    "In, not among them": (where("pool", "In", "cpu"), L4, False),
    "NotIn": (where("pool", "NotIn", "cpu"), L4, True),
    "NotIn, among them": (where("pool", "NotIn", "l4"), L4, False),
    "Exists": (where("pool", "Exists"), L4, True),
    "DoesNotExist": (where("pool", "DoesNotExist"), L4, False),
    "DoesNotExist on a key of others": (where("zone", "DoesNotExist"), L4, True),
    "Gt": (where("gpus", "Gt", "3"), L4, True),
    "Gt, not more": (where("gpus", "Gt", "4"), L4, False),
    "Lt": (where("gpus", "Lt", "5"), L4, True),
    "Lt, not less": (where("gpus", "Lt", "4"), L4, False),
    "Gt of no number": (where("pool", "Gt", "3"), L4, False),
    "any term suffices": (pods(affinity=(NEITHER, EITHER)), L4, True),
    "no term holds": (pods(affinity=(NEITHER, NEITHER)), L4, False),
    "a term about other keys allows all": (pods(affinity=(NEITHER, ELSEWHERE)), L4, True),
    "taint": (pods(), TAINTED, False),
    "NoExecute taint": (pods(), HARD, False),
    "PreferNoSchedule taint": (pods(), SOFT, True),
    "the flavor tolerates it": (pods(), SELF_TOLERANT, True),
    "tolerates Equal": (tolerant("gpu", "present"), TAINTED, True),
    "tolerates, empty operator is Equal": (tolerant("gpu", "present", ""), TAINTED, True),
    "tolerates another value": (tolerant("gpu", "absent"), TAINTED, False),
    "tolerates another key": (tolerant("tpu", "present"), TAINTED, False),
    "tolerates Exists": (tolerant("gpu", "", "Exists"), TAINTED, True),
    "tolerates everything": (tolerant("", "", "Exists"), TAINTED, True),
    "tolerates less": (tolerant("hosts", "5", "Lt"), COUNTED, True),
    "tolerates less, not enough": (tolerant("hosts", "4", "Lt"), COUNTED, False),
    "tolerates more": (tolerant("hosts", "3", "Gt"), COUNTED, True),
    "tolerates more, not enough": (tolerant("hosts", "4", "Gt"), COUNTED, False),
    "tolerates less than no number": (tolerant("gpu", "many", "Lt"), TAINTED, False),
    "tolerates by an unknown operator": (tolerant("gpu", "present", "Near"), TAINTED, False),
    "tolerates the effect": (tolerant("gpu", "present", effect=TaintEffect.NO_SCHEDULE), TAINTED, True),
    "tolerates another effect": (tolerant("gpu", "present", effect=TaintEffect.NO_EXECUTE), TAINTED, False),
}


@pytest.mark.parametrize(("pod_set", "flavor", "matches"), CASES.values(), ids=CASES.keys())
def test_pods_match_a_flavor_by_labels_and_taints(pod_set: PodSet, flavor: Flavor, matches: bool) -> None:
    assert (mismatch(pod_set, flavor) is None) == matches


def test_the_reason_names_what_differs() -> None:
    assert mismatch(pods(), TAINTED) == "has the taint gpu=present:NoSchedule, which is not tolerated"
    assert (
        mismatch(pods(node_selector={"pool": "cpu"}), L4)
        == "has the label pool=l4, but the node selector requires cpu"
    )
    assert mismatch(pods(affinity=(NEITHER,)), L4) == "has labels that the node affinity excludes"


CPU, GIB = 1000, 2**30
SMALL, LARGE = {"cpu": 4 * CPU, "memory": 60 * GIB}, {"cpu": 8 * CPU, "memory": 30 * GIB}
SIZES: dict[str, tuple[dict[str, int], tuple[dict[str, int], ...], str | None]] = {
    "sizes that are not known": ({"memory": 300 * GIB}, (), None),
    "just fits": ({"cpu": 4 * CPU, "memory": 60 * GIB}, (SMALL,), None),
    "more memory": (
        {"cpu": CPU, "memory": 300 * GIB},
        (SMALL,),
        "has 60Gi memory for pods on its largest node, but a pod requests 300Gi",
    ),
    "more of both": (
        {"cpu": 5 * CPU, "memory": 61 * GIB},
        (SMALL,),
        "has 4 cpu for pods on its largest node, but a pod requests 5 and has 60Gi memory for pods on its "
        "largest node, but a pod requests 61Gi",
    ),
    "fits on one kind of nodes": ({"cpu": 5 * CPU}, (SMALL, LARGE), None),
    "more than any kind has": (
        {"cpu": 9 * CPU},
        (SMALL, LARGE),
        "has 8 cpu for pods on its largest node, but a pod requests 9",
    ),
    "too much of one resource for each kind": (
        {"cpu": 5 * CPU, "memory": 40 * GIB},
        (SMALL, LARGE),
        "has no node where a pod with 5 cpu and 40Gi memory fits",
    ),
    "a resource that is not listed": ({"example.com/license": 1}, (SMALL,), None),
}


@pytest.mark.parametrize(("requests", "sizes", "why"), SIZES.values(), ids=SIZES.keys())
def test_a_pod_fits_on_a_node_of_the_flavor(
    requests: dict[str, int], sizes: tuple[dict[str, int], ...], why: str | None
) -> None:
    assert mismatch(pods(requests=requests), Flavor("a3", node_sizes=sizes)) == why
