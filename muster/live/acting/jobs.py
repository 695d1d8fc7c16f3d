"""Finds the job that the command line names."""

from typing import Any

from muster.cluster.jobs.job import Job
from muster.cluster.jobs.kinds import BY_KIND
from muster.kube.client import Kube
from muster.kube.kinds import Kind
from muster.live.observed import ObservationError
from muster.objects.meta import Object


def split(name: str) -> tuple[Kind[Any], str]:
    """Returns the kind and the name of KIND/NAME. Raises: ObservationError."""
    word, slash, job = name.partition("/")
    kind = next((k for k in BY_KIND if word.lower() in (k.name.lower(), k.plural)), None)
    if kind is None or not slash or not job:
        expected = ", ".join(f"{k.name.lower()}/NAME" for k in BY_KIND)
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
    """Returns a view of the job, without its dependents: its own status is enough here."""
    return BY_KIND[kind].view(obj)
