"""Rules of admission checks of other controllers."""

from collections.abc import Iterator

from muster.objects.names import KUEUE_GROUP
from settings.manifests.specs import CHECK
from settings.model.queues.queue import CheckParameters
from settings.model.stack import Settings
from settings.problems import Finding, Path, did_you_mean
from settings.rules.names import unique
from settings.rules.registry import rule

MULTIKUEUE = f"{KUEUE_GROUP}/multikueue"


@rule("queues")
def checks_are_known(settings: Settings) -> Iterator[Finding]:
    """Cluster queues name admission checks of the file, and flavors in which they have quota (Kueue:
    ClusterQueueSpec.admissionChecksStrategy)."""
    names = [check.name for check in settings.queues.checks]
    yield from unique(
        ((("muster:queues", "checks", i, "name"), name) for i, name in enumerate(names)), "check name"
    )
    if CHECK in names:
        yield Finding(
            ("muster:queues", "checks", names.index(CHECK), "name"),
            f"another name than {CHECK}, that of the stack's own check of queued pools",
            "rename it",
        )
    for i, queue in enumerate(settings.queues.cluster_queues):
        for check, flavors in queue.checks.items():
            path: Path = ("muster:queues", "clusterQueues", i, "checks", check)
            if check not in names:
                yield Finding(path, "the name of a check in muster:queues.checks", did_you_mean(check, names))
            for j, flavor in enumerate(flavors):
                if flavor not in queue.quotas:
                    yield Finding(
                        (*path, j),
                        "a flavor in which this queue has quota (Kueue)",
                        did_you_mean(flavor, queue.quotas),
                    )


@rule("admission", "queues")
def checks_have_a_controller(settings: Settings) -> Iterator[Finding]:
    """Checks that Kueue's own controllers decide need engine kueue: without them, the check stays Pending
    and no gang starts (Kueue: pkg/controller/admissionchecks)."""
    for i, check in enumerate(settings.queues.checks):
        if check.controller.startswith(f"{KUEUE_GROUP}/") and settings.admission.engine != "kueue":
            yield Finding(
                ("muster:queues", "checks", i, "controller"),
                f"a controller of your own: with engine {settings.admission.engine}, nothing decides checks "
                "of Kueue's controllers",
                "remove the check, or choose engine: kueue",
            )
        elif check.controller == MULTIKUEUE and not _is_multikueue_config(check.parameters):
            yield Finding(
                ("muster:queues", "checks", i, "parameters"),
                "a MultiKueueConfig: without it the check and the queues that name it are inactive (Kueue: "
                "pkg/controller/admissionchecks/multikueue)",
                f"write parameters: {{apiGroup: {KUEUE_GROUP}, kind: MultiKueueConfig, name: …}}",
            )


def _is_multikueue_config(parameters: CheckParameters | None) -> bool:
    return parameters is not None and (parameters.api_group, parameters.kind) == (
        KUEUE_GROUP,
        "MultiKueueConfig",
    )
