"""Rules of the quota of devices that pods claim."""

from collections.abc import Iterator

from settings.model.stack import Settings
from settings.problems import Doubt, Finding, Path, did_you_mean
from settings.rules.names import unique
from settings.rules.queues import holders
from settings.rules.registry import doubt, rule
from settings.rules.tenants import tenants_of

SOURCE = "Kueue v0.19.2, pkg/dra"
STANDARD = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})


@rule("admission")
def device_classes_are_mapped_once(settings: Settings) -> Iterator[Finding]:
    """A DeviceClass counts as one resource, and a resource has one entry (Kueue:
    resources.deviceClassMappings)."""
    admission = settings.admission
    mappings: list[tuple[Path, str]] = []
    classes: list[tuple[Path, str]] = []
    for i, mapping in enumerate(admission.device_classes):
        path: Path = ("muster:admission", "deviceClasses", i)
        mappings.append(((*path, "name"), mapping.name))
        classes += (((*path, "deviceClassNames", j), n) for j, n in enumerate(mapping.device_class_names))
    classes += (
        (("muster:admission", "uncountedDeviceClasses", i), name)
        for i, name in enumerate(admission.uncounted_device_classes)
    )
    yield from unique(mappings, "resource of device classes")
    yield from unique(classes, "DeviceClass")


@rule("admission", "queues")
def device_classes_have_quota(settings: Settings) -> Iterator[Finding]:
    """Devices count as a resource with quota, else no gang with claims could be admitted (Kueue:
    resources.deviceClassMappings)."""
    all_quotas = [quotas for holder in holders(settings) for quotas in holder.quotas.values()]
    resources = sorted({resource for quotas in all_quotas for resource in quotas} - STANDARD)
    for i, mapping in enumerate(settings.admission.device_classes):
        if mapping.name not in resources:
            yield Finding(
                ("muster:admission", "deviceClasses", i, "name"),
                "a resource of devices with quota in this file",
                did_you_mean(mapping.name, resources),
            )


@rule("admission")
def device_classes_suit_the_engine(settings: Settings) -> Iterator[Finding]:
    """Engine kai counts no claims, and Kueue refuses claims of devices without quota (Kueue: pkg/dra)."""
    admission = settings.admission
    if admission.engine == "kai" and admission.device_classes:
        yield Finding(
            ("muster:admission", "deviceClasses"),
            "no value: Muster does not configure KAI's quotas of claimed devices",
            "remove it, or choose engine: muster (or kueue)",
        )
    if admission.engine != "muster" and admission.uncounted_device_classes:
        yield Finding(
            ("muster:admission", "uncountedDeviceClasses"),
            f"no value: engine {admission.engine} has no devices without quota",
            "map the classes in `deviceClasses`, or choose engine: muster",
        )


@doubt("admission", "tenants")
def claims_may_not_be_counted(settings: Settings) -> Iterator[Doubt]:
    """Queues refuse gangs with claims of devices that have no quota (Kueue: pkg/dra)."""
    admission = settings.admission
    if admission.engine == "kai":
        return
    for path, tenant in tenants_of(settings):
        for name, claim in tenant.device_claims.items():
            if claim.device_class not in admission.device_quotas:
                why = (
                    f"gangs with claims of DeviceClass {claim.device_class} are refused, as no quota counts "
                    "its devices: add it to muster:admission.deviceClasses, unless all pods that use the "
                    "claim are in muster:tenants[].unqueued"
                )
                yield Doubt((*path, "deviceClaims", name, "deviceClass"), why, SOURCE)


@doubt("pools", "admission", "tenants")
def claims_may_not_fit_on_nodes(settings: Settings) -> Iterator[Doubt]:
    """A claim is for at most the devices of one node, unless they are partitions: those of a pod are on its
    node (Kubernetes, dynamic resource allocation)."""
    resources = {name: m.name for m in settings.admission.device_classes for name in m.device_class_names}
    for path, tenant in tenants_of(settings):
        for name, claim in tenant.device_claims.items():
            resource = resources.get(claim.device_class, "")
            most = max((int(pool.capacity.get(resource, 0)) for pool in settings.pools), default=0)
            if most and claim.count > most:
                yield Doubt(
                    (*path, "deviceClaims", name, "count"),
                    f"nodes have at most {most} {resource}, and all devices of a pod are on one node: unless "
                    "the class is of partitions, no pod gets them",
                    "Kubernetes, dynamic resource allocation",
                )
