"""The controller's configuration file, in the format of Kueue's."""

from typing import Any

from components.operators.kueue_configuration import fair_sharing, retention, wait_for_pods_ready
from settings.model.controller import Controller, OwnRules


def configuration(settings: Controller) -> dict[str, Any]:
    """Returns what differs from the defaults."""
    result: dict[str, Any] = {}
    if settings.wait_for_pods_ready:
        result["waitForPodsReady"] = wait_for_pods_ready(settings.wait_for_pods_ready)
    if settings.fair_sharing:
        result["fairSharing"] = fair_sharing(settings.fair_sharing)
    if retained := retention(settings.retention):
        result["objectRetentionPolicies"] = retained
    if settings.feature_gates:
        result["featureGates"] = dict(settings.feature_gates)
    if rules := _own_rules(settings.rules):
        result["rules"] = rules
    return result


def _own_rules(rules: OwnRules) -> dict[str, Any]:
    """Returns the enabled rules in the form that muster/configuration/configuration.py reads."""
    result: dict[str, Any] = {}
    if rules.immediate_unparking:
        result["immediateUnparking"] = True
    if rules.backfill:
        result["backfill"] = True
    if rules.minimum_run_seconds:
        result["minimumRunTime"] = f"{rules.minimum_run_seconds}s"
    if rules.aging:
        period = f"{rules.aging.period_seconds}s"
        result["aging"] = {"step": rules.aging.step, "period": period, "max": rules.aging.max}
    return result
