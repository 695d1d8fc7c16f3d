"""Finds the job that the command line names."""

from typing import Any

from muster.cluster.jobs.job import Job
from muster.cluster.jobs.raycluster import RayClusterGang
from muster.cluster.jobs.rayjob import RayJobGang
from muster.cluster.jobs.rayservice import RayServiceGang
from muster.kube.client import Kube
from muster.kube.kinds import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES, Kind
from muster.live.observed import ObservationError
from muster.objects.meta import Object

KINDS: tuple[Kind[Any], ...] = (RAY_JOBS, RAY_CLUSTERS, RAY_SERVICES)


def split(name: str) -> tuple[Kind[Any], str]:
    """Returns the kind and the name of KIND/NAME. Raises: ObservationError."""
    word, slash, job = name.partition("/")
    kind = next((k for k in KINDS if word.lower() in (k.name.lower(), k.plural)), None)
    if kind is None or not slash or not job:
        expected = ", ".join(f"{k.name.lower()}/NAME" for k in KINDS)
        raise ObservationError(f"{name!r}: expected one of {expected}")
    return kind, job


async def read_job(kube: Kube, kind: Kind[Any], key: str) -> Job:
    """Reads a job from the API server. Raises: ObservationError if there is none; errors of the
    API server."""
    obj = await kube.read(kind, key)
    if obj is None:
        namespace, _, name = key.partition("/")
        raise ObservationError(f"namespace {namespace} has no {kind} {name}")
    return view(kind, obj)


def view(kind: Kind[Any], obj: Object) -> Job:
    """Returns a view of the job. A RayService needs no RayClusters here: its own status is enough."""
    if kind is RAY_SERVICES:
        return RayServiceGang(obj, ())  # type: ignore[arg-type]  # of the kind
    build: Any = RayJobGang if kind is RAY_JOBS else RayClusterGang
    gang: Job = build(obj)
    return gang
