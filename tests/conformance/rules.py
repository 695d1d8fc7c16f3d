"""The core's rules from a case's feature gates and settings.

Stacks can set most gates; the others are here, and docs/conformance.md explains why stacks cannot set them.
"""

from dataclasses import replace
from typing import Any

from muster import admission as core
from muster.configuration.feature_gates import SUPPORTED, with_gates
from tests.conformance.case import Case, NotApplicable

ONLY_HERE = {
    "ConcurrentAdmission": "concurrent_admission",
    "ElasticJobsViaWorkloadSlicesWithTAS": "topology_elastic",
    "MultiKueueOrchestratedPreemption": "preemption_gates",
}
"""Gates of rules that only tests switch."""

IGNORED = frozenset(
    {
        "AdmissionFairSharing",  # its suite has no usage
        "ElasticJobsViaWorkloadSlices",  # on in all cases that name it
        "SchedulerLibraryIntegration",  # its cases do not apply
        "TASMultiLayerTopology",  # on in all cases that name it
        "UnadmittedWorkloadsObservability",
        "VectorizedResourceRequests",
    }
)
"""Gates without a rule in the core."""


def rules_of(case: Case, fair: bool | None = None) -> core.Rules:
    """Returns the case's rules; `fair` overrides the settings' fair sharing."""
    if case.gate("SchedulerLibraryIntegration", False):
        raise NotApplicable("nodes are not simulated with the library of the Kubernetes scheduler")
    strategies = case.config.get("fairSharingPreemptionStrategies")
    sharing = core.FairSharing()
    if strategies:
        sharing = replace(sharing, strategies=tuple(map(core.FairStrategy, strategies)))
    rules = with_gates(
        core.Rules(fair_sharing=sharing, ignore_undeclared=_ignores_undeclared(case)),
        {name: on for name, on in case.gates.items() if name in SUPPORTED},
    )
    weighed = bool(case.config.get("fairSharing")) if fair is None else fair
    switched: dict[str, Any] = {rule: case.gate(name, False) for name, rule in ONLY_HERE.items()}
    return replace(rules, fair_sharing=rules.fair_sharing if weighed else None, **switched)


def _ignores_undeclared(case: Case) -> bool:
    return bool(case.config.get("quotaCheckStrategy") == "IgnoreUndeclared")
