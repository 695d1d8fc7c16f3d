"""Names of buckets in Cloud Storage."""

import re
from typing import Annotated

from pydantic import AfterValidator
from typing_extensions import Doc

from settings.model.base import refuse

BUCKET = re.compile(r"[a-z0-9]([-_a-z0-9]{1,61})[a-z0-9]")


def _bucket(name: str) -> str:
    if not BUCKET.fullmatch(name) or name.startswith("goog") or "google" in name:
        refuse(
            "a bucket name: 3 to 63 of a-z, 0-9, '-' and '_', no '-' or '_' at either end, without google",
            "rename it; bucket names are unique in all of Cloud Storage",
        )
    return name


BucketName = Annotated[str, AfterValidator(_bucket), Doc("bucket name")]
