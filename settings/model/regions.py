"""Regions and zones of Google Cloud, and the locations of buckets.

Sources: Compute Engine, "Regions and zones"; Cloud Storage, "Bucket locations". New ones are added here.
"""

import re
from typing import Annotated

from pydantic import AfterValidator
from typing_extensions import Doc

from settings.model.base import refuse
from settings.problems import did_you_mean

LOCATION = re.compile(r"[a-z]+-[a-z]+[0-9]+(-(ai[0-9])?[a-z])?")
ZONE = re.compile(r"[a-z]+-[a-z]+[0-9]+-(ai[0-9])?[a-z]")

# Area -> numbers of its regions.
_AREAS: dict[str, tuple[int, ...]] = {
    "africa-south": (1,),
    "asia-east": (1, 2),
    "asia-northeast": (1, 2, 3),
    "asia-south": (1, 2),
    "asia-southeast": (1, 2, 3),
    "australia-southeast": (1, 2),
    "europe-central": (2,),
    "europe-north": (1, 2),
    "europe-southwest": (1,),
    "europe-west": (1, 2, 3, 4, 6, 8, 9, 10, 12),
    "me-central": (1, 2),
    "me-west": (1,),
    "northamerica-northeast": (1, 2),
    "northamerica-south": (1,),
    "southamerica-east": (1,),
    "southamerica-west": (1,),
    "us-central": (1, 2),
    "us-east": (1, 4, 5, 7),
    "us-south": (1,),
    "us-west": (1, 2, 3, 4, 8),
}
# Most regions have the zones a, b and c.
_OTHER_LETTERS = {"europe-west1": "bcd", "us-central1": "abcf", "us-central2": "b", "us-east1": "bcd"}
# AI zones have accelerators only (Compute Engine, "About AI zones"; Cloud TPU, regions and zones).
_AI_ZONES = {"us-central1": ("ai1a",), "us-south1": ("ai1b",)}
ZONES = {
    region: tuple(
        f"{region}-{zone}" for zone in (*_OTHER_LETTERS.get(region, "abc"), *_AI_ZONES.get(region, ()))
    )
    for region in (f"{area}{number}" for area, numbers in _AREAS.items() for number in numbers)
}
# Multi-regions and predefined dual-regions.
WIDE_LOCATIONS = ("asia", "eu", "us", "asia1", "eur4", "eur5", "eur7", "eur8", "nam4")


def _location(location: str) -> str:
    if not LOCATION.fullmatch(location):
        refuse("a zone such as us-west1-b or a region such as us-west1", "write where the cluster runs")
    if ZONE.fullmatch(location):
        return _zone(location)
    if location not in ZONES:
        refuse(
            "a region of Google Cloud, or a zone in one; settings/model/regions.py lists them",
            did_you_mean(location, ZONES, shown=3),
        )
    return location


def _zone(zone: str) -> str:
    if not ZONE.fullmatch(zone):
        refuse("a zone such as us-west1-b", "write a zone of the cluster's region")
    region = zone.rpartition("-")[0]
    if region not in ZONES:
        refuse(
            "a zone of Google Cloud; settings/model/regions.py lists the regions",
            did_you_mean(zone, [name for zones in ZONES.values() for name in zones], shown=3),
        )
    if zone not in ZONES[region]:
        refuse(
            f"a zone of {region}: {', '.join(ZONES[region])} (Compute Engine, regions and zones)",
            "choose one of them",
        )
    return zone


def _bucket_location(location: str) -> str:
    if location.lower() not in (*ZONES, *WIDE_LOCATIONS):
        refuse(
            f"a region, or one of {', '.join(WIDE_LOCATIONS)} (Cloud Storage, bucket locations)",
            "did you mean eu?"
            if location.lower() == "europe"
            else did_you_mean(location.lower(), [*ZONES, *WIDE_LOCATIONS], shown=3),
        )
    return location


Location = Annotated[str, AfterValidator(_location), Doc("region or zone")]
Zone = Annotated[str, AfterValidator(_zone), Doc("zone")]
BucketLocation = Annotated[str, AfterValidator(_bucket_location), Doc("bucket location")]
