"""Rules of the resources that Kueue counts: transformations, exclusions and weights (engine kueue)."""

from collections.abc import Iterator

from settings.model.stack import Settings
from settings.problems import Doubt, Finding, did_you_mean
from settings.rules.names import unique
from settings.rules.queues import counted_resources
from settings.rules.registry import doubt, rule


@rule("kueue", "admission", "queues")
def exclusions_leave_quotas(settings: Settings) -> Iterator[Finding]:
    """No resource with quota has an excluded prefix, as its quota would have no effect (Kueue:
    resources.excludeResourcePrefixes)."""
    for i, prefix in enumerate(settings.kueue.exclude_resource_prefixes):
        counted = sorted(name for name in counted_resources(settings) if name.startswith(prefix))
        if counted and settings.admission.engine == "kueue":
            yield Finding(
                ("muster:kueue", "excludeResourcePrefixes", i),
                f"a prefix of resources without quota: {', '.join(counted)} would not be counted (Kueue)",
                "write a longer prefix, or remove these quotas",
            )


@rule("kueue", "admission", "queues")
def transformations_are_counted(settings: Settings) -> Iterator[Finding]:
    """A resource has one transformation, into resources with quota: a gang that needs others is never
    admitted (Kueue: resources.transformations; pkg/config/validation.go)."""
    if settings.admission.engine != "kueue":
        return
    path = ("muster:kueue", "transformations")
    inputs = [transformation.input for transformation in settings.kueue.transformations]
    yield from unique((((*path, i, "input"), name) for i, name in enumerate(inputs)), "input")
    counted = counted_resources(settings)
    for i, transformation in enumerate(settings.kueue.transformations):
        for output in transformation.outputs:
            if output == transformation.input:
                yield Finding(
                    (*path, i, "outputs", output),
                    "another resource than the input (Kueue)",
                    "remove it; `strategy: Retain` keeps the input",
                )
            elif output not in counted:
                yield Finding(
                    (*path, i, "outputs", output),
                    "a resource with quota in this file: without it, no gang with the input is admitted",
                    did_you_mean(output, sorted(counted)),
                )


@rule("kueue", "admission", "queues")
def replaced_resources_have_no_quota(settings: Settings) -> Iterator[Finding]:
    """A resource that is replaced is not counted, so it has no quota, unless another one is counted as it
    (Kueue: resources.transformations, strategy Replace)."""
    if settings.admission.engine != "kueue":
        return
    transformations, counted = settings.kueue.transformations, counted_resources(settings)
    outputs = {output for transformation in transformations for output in transformation.outputs}
    for i, transformation in enumerate(transformations):
        name = transformation.input
        if transformation.strategy == "Replace" and name in counted - outputs:
            yield Finding(
                ("muster:kueue", "transformations", i, "strategy"),
                f"Retain, as queues have quota of {name}: with Replace nothing is counted against it (Kueue)",
                f"write Retain, or remove the quotas of {name}",
            )


@rule("kueue", "admission", "queues")
def weights_are_of_counted_resources(settings: Settings) -> Iterator[Finding]:
    """Usage is of resources with quota, and one of them at least has a weight: of others there is none to
    weigh (Kueue: AdmissionFairSharing.resourceWeights)."""
    fair, counted = settings.kueue.admission_fair_sharing, counted_resources(settings)
    if settings.admission.engine != "kueue" or fair is None:
        return
    path = ("muster:kueue", "admissionFairSharing", "resourceWeights")
    for name in fair.resource_weights:
        if name not in counted:
            yield Finding(
                (*path, name),
                "a resource with quota in this file, whose usage is counted (Kueue)",
                did_you_mean(name, sorted(counted)),
            )
    if not any(fair.resource_weights.get(name, 1) for name in counted):
        yield Finding(
            path,
            "a weight above 0 of one resource at least: otherwise all usage is 0, and orders nothing",
            "raise one, or remove `admissionFairSharing`",
        )


@doubt("kueue", "admission")
def usage_may_be_forgotten(settings: Settings) -> Iterator[Doubt]:
    """Past usage counts for longer than the time between two samples of it (Kueue: AdmissionFairSharing)."""
    fair = settings.kueue.admission_fair_sharing
    if settings.admission.engine != "kueue" or fair is None:
        return
    if 0 < fair.usage_half_life_seconds < fair.usage_sampling_seconds:
        yield Doubt(
            ("muster:kueue", "admissionFairSharing", "usageHalfLifeSeconds"),
            f"usage is sampled every {fair.usage_sampling_seconds} seconds, and counts less than half at "
            "the next sample: hardly more than the present usage orders workloads",
            "Kueue: AdmissionFairSharing",
        )
