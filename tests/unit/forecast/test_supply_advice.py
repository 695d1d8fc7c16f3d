"""Responses of Google Cloud's Compute Advice API as assumptions about supply."""

import json
from dataclasses import dataclass, field
from math import log
from typing import Any

import pytest

from muster.forecast.supply_advice import AdviceError, advice, combined

ZONE = "https://www.googleapis.com/compute/v1/projects/acme/zones/us-central1-a"


def capacity(model: str, **scores: Any) -> dict[str, Any]:
    """A response of advice.capacity."""
    shard = {"instanceCount": 8, "machineType": "a3-highgpu-8g", "provisioningModel": model, "zone": ZONE}
    return {"recommendations": [{"scores": scores, "shards": [shard]}]}


FUTURE = {"startTime": "2026-12-01T08:00:00Z", "endTime": "2026-12-08T08:00:00Z", "location": "zones/b"}


@dataclass(frozen=True)
class Case:
    response: dict[str, Any]
    remarks: tuple[str, ...]
    assumptions: dict[str, float] = field(default_factory=dict)


FLEX, SPOT = (f"x: {model} a3-highgpu-8g in us-central1-a" for model in ("FLEX_START", "SPOT"))
CASES = {
    "requests that may fail": Case(
        capacity("FLEX_START", obtainability=0.75),
        (f"{FLEX}: obtainability 0.75",),
        {"stock_out_probability": 0.25},
    ),
    "a wait for nodes": Case(
        capacity("FLEX_START", estimatedWaitDuration="5400s"),
        (f"{FLEX}: estimated wait 5400s",),
        {"provisioning_median_s": 5400},
    ),
    "spot nodes that run for two hours": Case(
        capacity("SPOT", estimatedUptime="7200s"),
        (f"{SPOT}: estimated uptime 7200s",),
        {"spot_interruptions_per_node_hour": log(2) / 2},
    ),
    "spot nodes that may not exist": Case(
        capacity("SPOT", obtainability=0.9), (f"{SPOT}: obtainability 0.9, which is not simulated",)
    ),
    "a history of preemptions": Case(
        {
            "machineType": "a3-highgpu-8g",
            "location": ZONE,
            "preemptionHistory": [{"preemptionRate": 0.2}, {"preemptionRate": 0.4}],
            "priceHistory": [{"listPrice": {"currencyCode": "USD", "units": "9"}}],
        },
        (
            f"{SPOT}: 30% of the stopped VMs were preempted, which is not a rate per hour: not used",
            f"{SPOT}: prices of VMs are not used: set muster:forecast.prices",
        ),
    ),
    "a reservation in the future": Case(
        {"recommendations": [{"recommendationsPerSpec": {"spec": FUTURE, "other": {}}}]},
        (
            "x: spec: a future reservation in b from 2026-12-01T08:00:00Z to 2026-12-08T08:00:00Z, which is "
            "not simulated",
            "x: other: no location is recommended",
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_response_is_read(name: str) -> None:
    case = CASES[name]
    read = advice(json.dumps(case.response), "x")
    assert read.remarks == case.remarks
    assert read.assumptions == pytest.approx(case.assumptions)


REFUSED = {
    "no JSON": ("{", "x: Input data was truncated; expected a response of advice.capacity"),
    "another document": ("{}", "x: no recommendations; expected a response"),
    "a score above 1": (json.dumps(capacity("SPOT", obtainability=1.5)), "Expected `float` <= 1.0"),
    "a duration without a unit": (
        json.dumps(capacity("SPOT", estimatedUptime="2h")),
        "x: '2h' is not a duration; expected seconds above 0, such as 3600s",
    ),
    "nodes that run for no time": (
        json.dumps(capacity("SPOT", estimatedUptime="0s")),
        "'0s' is not a duration",
    ),
    "no shards": ('{"recommendations": [{"scores": {}}]}', "a recommendation without scores or shards"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_content_is_refused(name: str) -> None:
    text, message = REFUSED[name]
    with pytest.raises(AdviceError) as error:
        advice(text, "x")
    assert message in str(error.value)


def test_later_responses_take_precedence() -> None:
    responses = [advice(json.dumps(capacity("FLEX_START", obtainability=share)), "x") for share in (0.5, 1)]
    both = combined(responses)
    assert both.assumptions == {"stock_out_probability": 0}
    assert len(both.remarks) == 2
