"""Warnings about images of operators."""

import re
from collections.abc import Iterator

from settings.model.stack import Settings
from settings.problems import Doubt
from settings.rules.registry import doubt

TAG = re.compile(r".*?:v?(?P<version>[0-9]+\.[0-9]+\.[0-9]+)([-.+_][\w.-]+)?(@.*)?")


@doubt("kuberay", "jobset", "lws", "kueue")
def images_may_be_of_another_version(settings: Settings) -> Iterator[Doubt]:
    """An operator's image has the version of its CRDs and roles, which are the chart's (Helm, charts)."""
    operators = {
        "muster:kuberay": (settings.kuberay.image, settings.kuberay.chart_version),
        "muster:jobset": (settings.jobset.image, settings.jobset.version),
        "muster:lws": (settings.lws.image, settings.lws.version),
        "muster:kueue": (settings.kueue.image, settings.kueue.version),
    }
    for key, (image, version) in operators.items():
        match = TAG.fullmatch(image or "")
        if match and match["version"] != version.partition("-")[0]:
            yield Doubt(
                (key, "image"),
                f"its tag is of version {match['version']}, but CRDs and roles are those of {version}",
                "Helm, charts",
            )
