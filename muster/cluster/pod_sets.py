"""The pods of a gang by pod set, as the job's operator recognizes them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from muster.cluster.jobs import raycluster
from muster.cluster.jobs.kinds import BY_OWNER
from muster.objects.core import Pod
from muster.objects.ray import CLUSTER_LABEL


def pod_set_of(pod: Pod) -> str | None:
    """Returns the pod set as which the job's operator recognizes the pod; None if it does not."""
    creator = pod.metadata.controller
    job_kind = BY_OWNER.get((creator.group, creator.kind)) if creator is not None else None
    if creator is None or job_kind is None or job_kind.pod_set_of is None:
        return None
    return job_kind.pod_set_of(pod.metadata.labels, creator.name)


def counts_by_pod_set(pods: Iterable[Pod]) -> Counter[str]:
    """Returns the number of pods that use quota, by pod set; pods whose gate is closed use none."""
    return Counter(name for name, _ in using_quota(pods))


def using_quota(pods: Iterable[Pod]) -> Iterator[tuple[str, Pod]]:
    """Yields the pods that use quota, with their pod set. Pods without an owner count by their labels, as
    they run until they are deleted (duplicate_pods.py)."""
    for pod in pods:
        name = None if pod.awaits_growth else pod_set_of(pod) or _labelled_pod_set(pod)
        if name:
            yield name, pod


def _labelled_pod_set(pod: Pod) -> str | None:
    labels = pod.metadata.labels
    return raycluster.pod_set_of(labels, labels.get(CLUSTER_LABEL, ""))


def by_pod_set(pods: Iterable[Pod]) -> Mapping[str, list[Pod]]:
    """Returns the recognized pods by pod set, the oldest first."""
    groups: dict[str, list[Pod]] = defaultdict(list)
    for pod in sorted(pods, key=age):
        name = pod_set_of(pod)
        if name is not None:
            groups[name].append(pod)
    return groups


def age(pod: Pod) -> tuple[str, str]:
    """Returns a key that sorts the oldest pod first. The API's times are UTC in whole seconds, so they sort
    as text."""
    return pod.metadata.creation_timestamp, pod.metadata.name
