"""ClusterQueues and Cohorts: countable quotas (clusterqueue_webhook.go, cohort_webhook.go)."""

from components.admission.kueue_objects.values import (
    AMOUNT_MAX,
    CPU_MAX,
    QUANTITY_LENGTH_MAX,
    are_labels,
    fair_sharing,
    is_amount,
    is_label_key,
    kueue_policy,
)
from components.admission.ray import Policy

TOTAL_MAX, COMBINATIONS_MAX = 256, 512
GROUPS = "spec.?resourceGroups.orValue([])"
CHECKS = "spec.?admissionChecksStrategy.?admissionChecks.orValue([])"
VARIABLES = {
    "groups": f"object.?{GROUPS}",
    "checks": f"object.?{CHECKS}",
    "flavors": "variables.groups.map(g, g.flavors.map(f, f.name))",
}
OLD_VARIABLES = {
    "oldFlavors": f"oldObject.{GROUPS}.map(g, g.flavors.map(f, f.name))",
    "oldChecks": f"oldObject.{CHECKS}",
}


def cluster_queues() -> Policy:
    """Returns the policy for ClusterQueues."""
    lent = "quantity(string(r.lendingLimit)).compareTo(quantity(string(r.nominalQuota))) <= 0"
    rules = _quotas("cohortName") | {
        _each_quota(
            f"!has(r.lendingLimit) || {lent}"
        ): "lendingLimit must be at most the nominalQuota of the same resource",
        _selector(): (
            "spec.namespaceSelector must be a label selector: keys and values are valid, In and NotIn "
            "need values, Exists and DoesNotExist have none"
        ),
        _checks(): (
            "onFlavors of spec.admissionChecksStrategy.admissionChecks must name flavors of "
            "spec.resourceGroups"
        ),
        'request.operation == "CREATE" || '
        "object.spec.?concurrentAdmissionPolicy == oldObject.spec.?concurrentAdmissionPolicy": (
            "spec.concurrentAdmissionPolicy is immutable"
        ),
    }
    return kueue_policy("clusterqueues", rules | fair_sharing(), VARIABLES | OLD_VARIABLES)


def cohorts() -> Policy:
    """Returns the policy for Cohorts."""
    return kueue_policy("cohorts", _quotas("parentName") | fair_sharing(), VARIABLES)


def _quotas(parent: str) -> dict[str, str]:
    amounts = " && ".join(
        f"(!has(r.{key}) || ({is_amount(f'r.{key}', 'r.name')}))"
        for key in ("nominalQuota", "borrowingLimit", "lendingLimit")
    )
    has_parent = f'object.?spec.?{parent}.orValue("") != ""'
    total = "variables.groups.map(g, g.{}.size()).sum()"
    once = (
        "g.coveredResources.exists_one(s, s == r) && variables.groups.exists_one(h, r in h.coveredResources)"
    )
    return {
        _each_quota(amounts): (
            "nominalQuota, borrowingLimit and lendingLimit must be quantities from 0 to "
            f"{CPU_MAX} of cpu or {AMOUNT_MAX} of anything else, of at most {QUANTITY_LENGTH_MAX} characters"
        ),
        f"variables.groups.all(g, g.coveredResources.all(r, {once}))": (
            "a resource can be in coveredResources only once: put all its flavors into one of "
            "spec.resourceGroups"
        ),
        "variables.groups.all(g, g.flavors.all(f, "
        "variables.groups.exists_one(h, h.flavors.exists(k, k.name == f.name))))": (
            "a flavor can be in only one of spec.resourceGroups: put all its resources into it"
        ),
        f"variables.groups.all(g, g.coveredResources.all(r, {is_label_key('r')}))": (
            "the names in coveredResources must be valid names of resources, such as cpu or nvidia.com/gpu"
        ),
        "variables.groups.all(g, g.flavors.all(f, f.resources.map(r, r.name) == g.coveredResources))": (
            "each flavor must have the resources of coveredResources, in the same order"
        ),
        f"{has_parent} || {_each_quota('!has(r.borrowingLimit) && !has(r.lendingLimit)')}": (
            f"borrowingLimit and lendingLimit need spec.{parent}, as nothing is shared without it"
        ),
        f"{total.format('flavors')} <= {TOTAL_MAX} && {total.format('coveredResources')} <= {TOTAL_MAX} && "
        f"variables.groups.all(g, g.flavors.map(f, f.resources.size()).sum() <= {COMBINATIONS_MAX})": (
            f"spec.resourceGroups can have at most {TOTAL_MAX} flavors and {TOTAL_MAX} resources in total, "
            f"and {COMBINATIONS_MAX} pairs of flavor and resource in each group"
        ),
    }


def _each_quota(rule: str) -> str:
    return f"variables.groups.all(g, g.flavors.all(f, f.resources.all(r, {rule})))"


def _selector() -> str:
    labels = "object.spec.?namespaceSelector.?matchLabels.orValue({})"
    expressions = "object.spec.?namespaceSelector.?matchExpressions.orValue([])"
    values = "e.?values.orValue([])"
    some = f'e.operator in ["In", "NotIn"] && {values}.size() > 0'
    none = f'e.operator in ["Exists", "DoesNotExist"] && {values}.size() == 0'
    valid = f"{values}.all(v, !format.labelValue().validate(v).hasValue())"
    each = f"{is_label_key('e.key')} && ({some} || {none}) && {valid}"
    return f"{are_labels(labels)} && {expressions}.all(e, {each})"


def _checks() -> str:
    """CEL for the flavors of checks. Checks from before this rule may stay until the flavors change."""
    unchanged = (
        'request.operation == "UPDATE" && variables.flavors == variables.oldFlavors && '
        "variables.oldChecks.exists(o, o.name == c.name && o.?onFlavors == c.?onFlavors)"
    )
    flavors_exist = "c.?onFlavors.orValue([]).all(f, variables.flavors.exists(names, f in names))"
    return f"variables.checks.all(c, {flavors_exist} || ({unchanged}))"
