"""Assumptions about supply from responses of Google Cloud's Compute Advice API, as files.

Source: Compute Engine API v1, methods advice.capacity, advice.capacityHistory and advice.calendarMode.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import log
from typing import Annotated

import msgspec

from muster.objects.meta import View

EXPECTED = "expected a response of advice.capacity, advice.capacityHistory or advice.calendarMode (JSON)"
MANAGED = "FLEX_START"
"""The provisioning model of nodes that a ProvisioningRequest gets."""

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class AdviceError(ValueError):
    """A response that cannot be read, with its file and the expected content."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Assumptions of a response by name, and sentences about their origin and about unused values."""

    assumptions: Mapping[str, float] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


class _Scores(View):
    obtainability: Share | None = None
    estimated_uptime: str = ""
    estimated_wait_duration: str = ""


class _Shard(View):
    machine_type: str = ""
    provisioning_model: str = "STANDARD"
    zone: str = ""
    instance_count: int = 0


class _FutureResources(View):
    start_time: str = ""
    end_time: str = ""
    location: str = ""


class _Recommendation(View):
    scores: _Scores | None = None
    shards: tuple[_Shard, ...] = ()
    recommendations_per_spec: dict[str, _FutureResources] = {}


class _Preemptions(View):
    preemption_rate: Share = 0.0


class _Response(View):
    """The fields of the three responses that are read."""

    recommendations: tuple[_Recommendation, ...] | None = None
    machine_type: str = ""
    location: str = ""
    preemption_history: tuple[_Preemptions, ...] | None = None
    price_history: tuple[msgspec.Raw, ...] | None = None


def advice(text: bytes | str, source: str) -> Advice:
    """Reads a response. Raises: AdviceError."""
    try:
        response = msgspec.json.decode(text, type=_Response)
    except msgspec.MsgspecError as error:
        raise AdviceError(f"{source}: {error}; {EXPECTED}") from error
    if response.preemption_history is not None or response.price_history is not None:
        return Advice(remarks=tuple(_history(response, source)))
    if not response.recommendations:
        raise AdviceError(f"{source}: no recommendations; {EXPECTED}")
    first = response.recommendations[0]
    if first.recommendations_per_spec:
        return Advice(remarks=tuple(_calendar(first, source)))
    if first.scores is None or not first.shards:
        raise AdviceError(f"{source}: a recommendation without scores or shards; {EXPECTED}")
    return _capacity(first.scores, first.shards, source)


def _capacity(scores: _Scores, shards: tuple[_Shard, ...], source: str) -> Advice:
    """Converts the first recommendation, which is the best. Spot nodes run for the estimated time with a
    probability of one half: their interruptions are assumed to be independent of their age."""
    shard = shards[0]
    what = f"{source}: {shard.provisioning_model} {shard.machine_type} in {_last_part(shard.zone)}"
    assumed: dict[str, float] = {}
    remarks = []
    if scores.obtainability is not None:
        if shard.provisioning_model == MANAGED:
            assumed["stock_out_probability"] = 1 - scores.obtainability
            remarks.append(f"{what}: obtainability {scores.obtainability:g}")
        else:
            remarks.append(f"{what}: obtainability {scores.obtainability:g}, which is not simulated")
    if scores.estimated_wait_duration and shard.provisioning_model == MANAGED:
        assumed["provisioning_median_s"] = _seconds(scores.estimated_wait_duration, source)
        remarks.append(f"{what}: estimated wait {scores.estimated_wait_duration}")
    if scores.estimated_uptime and shard.provisioning_model == "SPOT":
        uptime_s = _seconds(scores.estimated_uptime, source)
        assumed["spot_interruptions_per_node_hour"] = 3600 * log(2) / uptime_s
        remarks.append(f"{what}: estimated uptime {scores.estimated_uptime}")
    return Advice(assumed, tuple(remarks))


def _history(response: _Response, source: str) -> Iterator[str]:
    """Describes a history. Its rate is the share of stopped Spot VMs that were preempted, from which no
    number of interruptions per hour follows."""
    what = f"{source}: SPOT {response.machine_type} in {_last_part(response.location)}"
    if rates := [record.preemption_rate for record in response.preemption_history or ()]:
        mean = sum(rates) / len(rates)
        yield f"{what}: {mean:.0%} of the stopped VMs were preempted, which is not a rate per hour: not used"
    if response.price_history:
        yield f"{what}: prices of VMs are not used: set muster:forecast.prices"


def _calendar(recommendation: _Recommendation, source: str) -> Iterator[str]:
    for name, resources in recommendation.recommendations_per_spec.items():
        if resources.location:
            times = f"from {resources.start_time} to {resources.end_time}"
            place = _last_part(resources.location)
            yield f"{source}: {name}: a future reservation in {place} {times}, which is not simulated"
        else:
            yield f"{source}: {name}: no location is recommended"


def combined(every: Iterable[Advice]) -> Advice:
    """Returns the assumptions and remarks of several responses; later ones take precedence."""
    assumed: dict[str, float] = {}
    remarks: list[str] = []
    for response in every:
        assumed |= response.assumptions
        remarks += response.remarks
    return Advice(assumed, tuple(remarks))


def _seconds(duration: str, source: str) -> float:
    """Reads a duration such as `3600s` (google.protobuf.Duration). Raises: AdviceError."""
    try:
        seconds = float(duration.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not (duration.endswith("s") and 0 < seconds < float("inf")):
        raise AdviceError(
            f"{source}: {duration!r} is not a duration; expected seconds above 0, such as 3600s"
        )
    return seconds


def _last_part(url: str) -> str:
    return url.rpartition("/")[2] or "no zone"
