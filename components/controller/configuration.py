"""The controller's configuration file, in the format of Kueue's."""

from typing import Any

from components.operators.kueue_configuration import fair_sharing, retention, wait_for_pods_ready
from settings.model.controller import Controller, OwnRules


def configuration(settings: Controller) -> dict[str, Any]:
    """Returns what differs from the defaults."""
    wanted: dict[str, Any] = {}
    if settings.wait_for_pods_ready:
        wanted["waitForPodsReady"] = wait_for_pods_ready(settings.wait_for_pods_ready)
    if settings.fair_sharing:
        wanted["fairSharing"] = fair_sharing(settings.fair_sharing)
    if kept := retention(settings.retention):
        wanted["objectRetentionPolicies"] = kept
    if settings.feature_gates:
        wanted["featureGates"] = dict(settings.feature_gates)
    if rules := _own_rules(settings.rules):
        wanted["rules"] = rules
    return wanted


def _own_rules(rules: OwnRules) -> dict[str, Any]:
    """Returns the enabled rules in the form that muster/configuration/configuration.py reads."""
    wanted: dict[str, Any] = {}
    if rules.immediate_unparking:
        wanted["immediateUnparking"] = True
    if rules.backfill:
        wanted["backfill"] = True
    if rules.minimum_run_seconds:
        wanted["minimumRunTime"] = f"{rules.minimum_run_seconds}s"
    if rules.aging:
        period = f"{rules.aging.period_seconds}s"
        wanted["aging"] = {"step": rules.aging.step, "period": period, "max": rules.aging.max}
    return wanted
