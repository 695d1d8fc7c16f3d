"""Rules of the resources that Kueue counts: transformations and exclusions (engine kueue)."""

from collections.abc import Iterator

from settings.model.stack import Settings
from settings.problems import Finding, did_you_mean
from settings.rules.names import unique
from settings.rules.queues import counted_resources
from settings.rules.registry import rule


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
