"""Queues: a tree of cohorts, cluster queues with quotas by flavor, and how they borrow and preempt."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from typing_extensions import Doc

from muster.objects.names import PROVISIONING_CONTROLLER
from settings.model.base import DnsLabel, DnsSubdomain, Model, amount, matching, refuse
from settings.model.queues.budget import Budget
from settings.model.queues.resource_groups import Quotas, ResourceGroup, resource_groups

Strategy = Literal["StrictFIFO", "BestEffortFIFO"]
FlavorPolicy = Literal["MayStopSearch", "TryNextFlavor"]
KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
CONTROLLER = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
CONTROLLER_LENGTH_MAX = 253


def _weight(value: object) -> object:
    """Checks a fair-sharing weight, a Kubernetes quantity; YAML reads `2` and `0.5` as numbers."""
    text = str(value)
    try:
        good = not isinstance(value, bool) and amount(text) >= 0
    except ValueError:
        good = False
    if not good:
        refuse("a weight of 0 or more; the default is 1", "write a number, such as 2 or 0.5")
    return text


Weight = Annotated[str, BeforeValidator(_weight), Doc("number")]


class BorrowWithinCohort(Model):
    """Preemption by a gang that needs to borrow (Kueue: preemption.borrowWithinCohort)."""

    policy: Literal["Never", "LowerPriority"] = "Never"
    """`LowerPriority`: may preempt gangs of lower priority in the cohort (engines muster and kueue)."""
    max_priority_threshold: int | None = None
    """Highest priority that may be preempted this way; any lower one if unset."""


class Preemption(Model):
    """Kueue's ClusterQueuePreemption, with Kueue's values."""

    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"
    """Gangs of the same queue that a gang may preempt: none, gangs of lower priority, or also newer gangs of
    equal priority."""
    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = "Never"
    """Gangs of other queues in the cohort that may be preempted to reclaim borrowed quota: none, gangs of
    lower priority, or any."""
    borrow_within_cohort: BorrowWithinCohort | None = None
    """Needs `reclaimWithinCohort`; engines muster and kueue."""


class FlavorFungibility(Model):
    """Conditions under which the search for a flavor stops at a flavor that requires borrowing or
    preemption."""

    when_can_borrow: FlavorPolicy = "MayStopSearch"
    """`MayStopSearch` stops at a flavor in which the gang fits by borrowing."""
    when_can_preempt: FlavorPolicy = "TryNextFlavor"
    """`MayStopSearch` stops at a flavor in which the gang fits by preempting."""
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None
    """The preference if both are TryNextFlavor; Kueue's BorrowingOverPreemption if unset."""

    @model_validator(mode="after")
    def _preference_needs_two_options(self) -> Self:
        tries_all = self.when_can_borrow == self.when_can_preempt == "TryNextFlavor"
        if self.preference and not tries_all:
            refuse(
                "a preference only if whenCanBorrow and whenCanPreempt are both TryNextFlavor (Kueue)",
                "remove `preference`, or set both to TryNextFlavor",
            )
        return self


class Cohort(Model):
    """A Cohort: its queues and child cohorts borrow unused quota from each other."""

    name: DnsSubdomain
    """Name by which cluster queues and other cohorts refer to it."""
    parent: DnsSubdomain | None = None
    """The parent cohort, through which it borrows and lends; a root if unset."""
    quotas: Quotas = Field(default_factory=dict)
    """Quotas by flavor and resource, in addition to its queues' quotas."""
    weight: Weight | None = None
    """Fair-sharing weight among the children of its parent; 1 if unset (engines muster and kueue with
    `fairSharing`, engine kai)."""
    budgets: tuple[Budget, ...] = ()
    """Device hours per period that its queues, and those of its child cohorts, share (engine muster)."""

    @property
    def resource_groups(self) -> tuple[ResourceGroup, ...]:
        """The quotas, grouped as in Kueue's API."""
        return resource_groups(self.quotas)


class ClusterQueue(Model):
    """A ClusterQueue: gangs wait in it, by priority and age, for its own or borrowed quota."""

    name: DnsSubdomain
    """Name by which tenants' `queues` refer to it."""
    cohort: DnsSubdomain | None = None
    """The cohort in which it borrows and lends; neither if unset."""
    quotas: Annotated[Quotas, Field(min_length=1)]
    """Quotas by flavor and resource; flavors are tried in the order given here."""
    preemption: Preemption = Preemption()
    """Gangs that its gangs may preempt; none by default."""
    strategy: Strategy = "BestEffortFIFO"
    """`StrictFIFO`: a gang that does not fit blocks all behind it. `BestEffortFIFO`: gangs behind it that fit
    are admitted."""
    flavor_fungibility: FlavorFungibility | None = None
    """Conditions for trying the next flavor; Kueue's defaults if unset."""
    weight: Weight | None = None
    """Fair-sharing weight in its cohort; 1 if unset (engines muster and kueue with `fairSharing`, engine
    kai)."""
    admission_fair_sharing: bool = False
    """Admits first from LocalQueues that used less recently; engine kueue with
    `muster:kueue.admissionFairSharing`."""
    checks: dict[DnsSubdomain, tuple[DnsSubdomain, ...]] = Field(default_factory=dict)
    """Additional admission checks, each with the flavors it applies to (none: all)."""
    stop: Literal["None", "Hold", "HoldAndDrain"] = "None"
    """`Hold`: admits no further workloads. `HoldAndDrain`: also evicts admitted ones."""
    namespaces: dict[str, str] = Field(default_factory=dict)
    """Labels of namespaces that may use the queue (none: any namespace)."""
    budgets: tuple[Budget, ...] = ()
    """Device hours per period (engine muster)."""

    @property
    def resource_groups(self) -> tuple[ResourceGroup, ...]:
        """The quotas, grouped as in Kueue's API."""
        return resource_groups(self.quotas)


Kind = Annotated[
    str,
    matching(
        KIND,
        "a kind of the API, in CamelCase, up to 63 characters",
        "write it as in its manifests, such as Budget",
    ),
    Doc("kind"),
]


class CheckParameters(Model):
    """The object with the parameters of an admission check."""

    api_group: DnsSubdomain
    """API group of the object, such as budgets.example.com."""
    kind: Kind
    """Kind of the object, such as Budget."""
    name: DnsLabel
    """Name of the object."""


def _foreign_controller(name: str) -> str:
    if name == PROVISIONING_CONTROLLER:
        refuse(
            "another controller: the stack adds the provisioning check of queued pools",
            "remove this check; configure it in `muster:admission.queuedProvisioning`",
        )
    if not CONTROLLER.fullmatch(name) or len(name) > CONTROLLER_LENGTH_MAX:
        refuse(
            "the name of a controller: a domain, '/' and a path, up to 253 characters (Kueue: "
            "AdmissionCheckSpec.controllerName)",
            "write it as its controller expects it, such as example.com/budget",
        )
    return name


Controller = Annotated[str, AfterValidator(_foreign_controller), Doc("controller name")]


class AdmissionCheck(Model):
    """An admission check that your own controller decides, such as a check of a budget."""

    name: DnsSubdomain
    """Name by which cluster queues' `checks` refer to it."""
    controller: Controller
    """The check's `spec.controllerName`."""
    parameters: CheckParameters | None = None
    """The check's `spec.parameters`."""

    def spec(self) -> dict[str, Any]:
        """Returns the spec of the AdmissionCheck."""
        spec: dict[str, Any] = {"controllerName": self.controller}
        if self.parameters:
            spec["parameters"] = self.parameters.model_dump(by_alias=True)
        return spec


class Queues(Model):
    """Cohorts, and the cluster queues under them; tenants' local queues point to cluster queues."""

    cohorts: tuple[Cohort, ...] = ()
    """The tree of cohorts above the cluster queues."""
    cluster_queues: Annotated[tuple[ClusterQueue, ...], Field(min_length=1)]
    """Cluster queues with their quotas; each gang waits in one of them."""
    checks: tuple[AdmissionCheck, ...] = ()
    """Admission checks of your own controllers; the stack adds that of queued pools."""
