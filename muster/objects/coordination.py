"""Lease, `coordination.k8s.io/v1`, with the fields that client-go's leader election writes."""

from muster.objects.meta import Object, View


class LeaseSpec(View):
    """Times are RFC 3339 with microseconds."""

    holder_identity: str | None = None  # None or empty if it is not held
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Object):
    """`coordination.k8s.io/v1`: the active replica."""

    spec: LeaseSpec = LeaseSpec()
