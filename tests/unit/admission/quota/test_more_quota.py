"""A queue with more nominal quota, without rebuilding the tree."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.admission import ClusterQueue, Cohort, FlavorResource, Quota, Snapshot
from muster.admission.quota.more_quota import with_more_quota
from muster.admission.quota.tree import QuotaNode, QuotaTree
from tests.unit.admission.builders import fr, node, queue, snapshot
from tests.unit.admission.strategies import PROPERTY, cluster_queues, cohorts, examples

RESOURCES = (fr("plain"), fr("spot"), fr("plain", "pods"))
USAGES = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(RESOURCES), st.integers(1, 7)), min_size=1, max_size=6
)


def tree(cohorts: dict[str, Cohort], queues: dict[str, ClusterQueue]) -> QuotaTree:
    return QuotaTree(Snapshot({}, cohorts, queues, ()), queues)


def with_more(queue: ClusterQueue, of: FlavorResource, more: int) -> ClusterQueue:
    def quotas(flavor: str, documented: dict[str, Quota]) -> dict[str, Quota]:
        return {
            resource: replace(quota, nominal=quota.nominal + more) if (flavor, resource) == of else quota
            for resource, quota in documented.items()
        }

    groups = tuple(
        replace(
            group,
            flavors=tuple(
                replace(flavor, quotas=quotas(flavor.flavor, dict(flavor.quotas))) for flavor in group.flavors
            ),
        )
        for group in queue.groups
    )
    return replace(queue, groups=groups)


def use(of: QuotaTree, usages: list[tuple[int, FlavorResource, int]]) -> QuotaNode:
    """Each queue uses what is said; the first one is what the test is about."""
    queues = list(of.queues.values())
    for place, resource, amount in usages:
        queues[place % len(queues)].add({resource: amount})
    return queues[0]


@settings(PROPERTY, max_examples=examples(60))
@given(cohorts(), cluster_queues(), USAGES, st.sampled_from(RESOURCES), st.integers(1, 9))
def test_it_is_as_a_tree_with_that_quota(
    cohorts: dict[str, Cohort],
    queues: dict[str, ClusterQueue],
    usages: list[tuple[int, FlavorResource, int]],
    requested: FlavorResource,
    more: int,
) -> None:
    mine = use(tree(cohorts, queues), usages)
    if requested not in mine.quotas:
        return
    before = dict(mine.usage), mine.available(requested), mine.potentially_available(requested)
    expected = use(
        tree(cohorts, {**queues, mine.name: with_more(queues[mine.name], requested, more)}), usages
    )
    enlarged = with_more_quota(mine, {requested: more})
    for resource in RESOURCES:
        assert enlarged.available(resource) == expected.available(resource)
        assert enlarged.potentially_available(resource) == expected.potentially_available(resource)
        for amount in (0, 1, 3, 8):
            assert enlarged.borrowing_level(resource, amount) == expected.borrowing_level(resource, amount)
    assert (dict(mine.usage), mine.available(requested), mine.potentially_available(requested)) == before


def test_borrowed_quota_is_lent_again() -> None:
    of = snapshot([queue("q", 2, cohort="ml"), queue("other", 4, cohort="ml")])
    borrower = node(of)
    borrower.add({fr("l4"): 4})
    assert (borrower.available(fr("l4")), with_more_quota(borrower, {fr("l4"): 2}).available(fr("l4"))) == (
        2,
        4,
    )
