"""Jobs that a command line names."""

from typing import Any

from muster.controller.jobs.job import Job
from muster.controller.jobs.raycluster import RayClusterGang
from muster.controller.jobs.rayjob import RayJobGang
from muster.controller.jobs.rayservice import RayServiceGang
from muster.kube.client import Kube
from muster.kube.kinds import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES, Kind
from muster.live.observed import ObservationError
from muster.objects.meta import Object

KINDS: tuple[Kind[Any], ...] = (RAY_JOBS, RAY_CLUSTERS, RAY_SERVICES)


def split(name: str) -> tuple[Kind[Any], str]:
    """Returns the kind and the name of KIND/NAME. Raises: ObservationError."""
    word, slash, rest = name.partition("/")
    kind = next((k for k in KINDS if word.lower() in (k.name.lower(), k.plural)), None)
    if kind is None or not slash or not rest:
        known = ", ".join(f"{k.name.lower()}/NAME" for k in KINDS)
        raise ObservationError(f"{name!r}: expected one of {known}")
    return kind, rest


async def read_job(kube: Kube, kind: Kind[Any], key: str) -> Job:
    """Returns the job as it is. Raises: ObservationError if there is none; those of the API server."""
    found = await kube.read(kind, key)
    if found is None:
        namespace, _, name = key.partition("/")
        raise ObservationError(f"namespace {namespace} has no {kind} {name}")
    return view(kind, found)


def view(kind: Kind[Any], obj: Object) -> Job:
    """Returns a job's view; of a RayService without its RayClusters, which its own status suffices for."""
    if kind is RAY_SERVICES:
        return RayServiceGang(obj, ())  # type: ignore[arg-type]  # of the kind
    made: Any = RayJobGang if kind is RAY_JOBS else RayClusterGang
    gang: Job = made(obj)
    return gang
