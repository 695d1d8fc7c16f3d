"""Workloads: their requests and their status (workload_webhook.go).

The spec is checked only when the spec changes, and the status when the status changes: the engine must be
able to report a problem of an invalid Workload and remove its finalizer.
"""

from components.admission.kueue_objects.flavors import tolerations_have_keys
from components.admission.kueue_objects.values import (
    AMOUNT_MAX,
    CPU_MAX,
    are_labels,
    is_amount,
    is_label_key,
)
from components.admission.ray import Policy
from components.admission.templates import from_old_object
from muster.objects.names import (
    ELASTIC_ANNOTATION,
    GATES_ANNOTATION,
    JOB_UID_LABEL,
    KUEUE_GROUP,
    KUEUE_VERSION,
    SIZES_ANNOTATION,
)

GATE = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[-A-Za-z0-9/._~%!$&()*+;=:]+$"
GATE_LENGTH_MAX = 63
CONTROLLERS = "metadata.?ownerReferences.orValue([]).filter(o, o.?controller.orValue(false))"
# The garbage collector, which removes owner references for --cascade=orphan, and administrators.
MAY_DELETE_ANY = f'authorizer.group("{KUEUE_GROUP}").resource("workloads").check("delete").allowed()'
RESERVES = 'status.?conditions.orValue([]).exists(c, c.type == "QuotaReserved" && c.status == "True")'
SINCE = 'status.?conditions.orValue([]).filter(c, c.type == "QuotaReserved").map(c, c.lastTransitionTime)'
LISTS = {
    "Sets": "spec.?podSets",
    "Assigned": "status.?admission.?podSetAssignments",
    "Checks": "status.?admissionChecks",
    "Reclaimable": "status.?reclaimablePods",
}


def workloads() -> Policy:
    """Returns the policy for Workloads."""
    return Policy(
        name="muster-workloads-are-valid",
        group=KUEUE_GROUP,
        version=KUEUE_VERSION,
        resources=("workloads", "workloads/status"),
        operations=("CREATE", "UPDATE"),
        rules=_if("specChanged", _spec())
        | _if("statusChanged", _admission() | _reclaimable() | _checks())
        | _gates()
        | _job(),
        variables=_variables(),
        reason="Invalid",
    )


def _variables() -> dict[str, str]:
    lists = {f"new{name}": f"object.?{path}.orValue([])" for name, path in LISTS.items()}
    old = {f"old{name}": from_old_object(f"oldObject.?{path}.orValue([])") for name, path in LISTS.items()}
    return {
        **lists,
        **old,
        "specChanged": 'request.operation == "CREATE" || object.?spec != oldObject.?spec',
        "statusChanged": 'request.operation == "CREATE" || object.?status != oldObject.?status',
        "names": "variables.newSets.map(s, s.name)",
        "elastic": f'object.metadata.?annotations[?"{ELASTIC_ANNOTATION}"].orValue("") == "true"',
        "autoscaled": f'object.metadata.?annotations[?"{SIZES_ANNOTATION}"].hasValue()',
        "reserves": f"object.?{RESERVES}",
        "reserved": f'request.operation == "UPDATE" && oldObject.?{RESERVES}',
        "reservedAgain": f"object.?{SINCE} != oldObject.?{SINCE}",
        "gates": _gates_of("object"),
        "oldGates": from_old_object(_gates_of("oldObject")),
        "controllers": f"object.{CONTROLLERS}",
        "oldControllers": from_old_object(f"oldObject.{CONTROLLERS}"),
    }


def _if(condition: str, rules: dict[str, str]) -> dict[str, str]:
    return {f"!variables.{condition} || ({rule})": message for rule, message in rules.items()}


def _spec() -> dict[str, str]:
    pod = "s.template.?spec"
    amounts = " && ".join(
        f"{pod}.?{containers}.orValue([]).all(c, {_amounts('c.?resources')})"
        for containers in ("containers", "initContainers")
    )
    metadata = " && ".join(
        (
            are_labels("s.template.?metadata.?labels.orValue({})"),
            f"s.template.?metadata.?annotations.orValue({{}}).all(k, {is_label_key('k.lowerAscii()')})",
        )
    )
    slices = "s.?topologyRequest.?{}"
    level, size = (slices.format(f"podSetSlice{name}") for name in ("RequiredTopology", "Size"))
    constraints = slices.format("podsetSliceRequiredTopologyConstraints")
    sliced = (
        f"{level}.hasValue() == {size}.hasValue() && {size}.orValue(1) > 0 && "
        f"{constraints}.orValue([]).all(c, c.?size.orValue(0) > 0)"
    )
    unchanged = (
        "o.name == n.name && o.template == n.template && o.?minCount == n.?minCount && "
        "o.?topologyRequest == n.?topologyRequest && n.?count.orValue(1) <= o.?count.orValue(1)"
    )
    variable = "variables.newSets.filter(s, has(s.minCount)).size()"
    return {
        f"{variable} <= (variables.elastic ? 0 : 1)": (
            "at most one of spec.podSets can have minCount, and none in an elastic job"
        ),
        f"variables.newSets.all(s, {amounts} && {_amounts(f'{pod}.?resources')})": (
            f"requests and limits in spec.podSets must be quantities from 0 to {CPU_MAX} of cpu or "
            f"{AMOUNT_MAX} of anything else, and not of the resource pods, which Kueue counts itself"
        ),
        f"variables.newSets.all(s, {metadata})": (
            "labels and annotations in the templates of spec.podSets must be valid for pods"
        ),
        f"variables.newSets.all(s, {sliced})": (
            "podSetSliceRequiredTopology and podSetSliceSize of a topologyRequest go together, and "
            "slices have at least 1 pod"
        ),
        "!variables.reserved || (variables.newSets.size() == variables.oldSets.size() && "
        f"variables.newSets.all(n, variables.oldSets.exists(o, {unchanged})))": (
            "spec.podSets are immutable while quota is reserved for them, except that counts may fall"
        ),
    }


def _amounts(resources: str) -> str:
    there = resources.replace(".?", ".")
    return " && ".join(
        f'{resources}.?{what}.orValue({{}}).all(r, r != "pods" && {is_amount(f"{there}.{what}[r]", "r")})'
        for what in ("requests", "limits")
    )


def _admission() -> dict[str, str]:
    units = _units("a.resourceUsage[r]", "r")
    per_pod = f"a.?resourceUsage.orValue({{}}).all(r, {units} % a.count == 0)"
    same = " && ".join(f"n.?{key} == o.?{key}" for key in ("name", "count", "flavors", "resourceUsage"))
    # Gangs of autoscaled jobs grow and shrink; a pod set without pods may have no flavors yet.
    size = "n.?name == o.?name && (n.?flavors == o.?flavors || o.?count.orValue(0) == 0)"
    was = "oldObject.?status.?admission.hasValue()"
    return {
        f"!variables.reserves || object.status.?admission.hasValue() || (variables.reserved && !{was})": (
            "status.admission must be set while the condition QuotaReserved is True"
        ),
        "!variables.reserves || variables.newAssigned.all(a, a.name in variables.names)": (
            "status.admission.podSetAssignments must name pod sets of the spec"
        ),
        f"!variables.reserves || variables.newAssigned.all(a, a.?count.orValue(0) == 0 || {per_pod})": (
            "resourceUsage of a pod set must be a multiple of its count"
        ),
        f'request.operation == "CREATE" || variables.reservedAgain || !{was} || '
        "!object.?status.?admission.hasValue() || "
        "(object.status.admission.clusterQueue == oldObject.status.admission.clusterQueue && "
        "variables.newAssigned.size() == variables.oldAssigned.size() && variables.newAssigned.all(n, "
        f"variables.oldAssigned.exists(o, ({same}) || (variables.autoscaled && {size}))))": (
            "status.admission is immutable until quota is reserved again, except its topologyAssignments, "
            "and the counts and resourceUsage of an autoscaled job"
        ),
    }


def _units(value: str, resource: str) -> str:
    """CEL for a quantity in the unit in which Kueue counts it: millicores of cpu, else whole units."""
    amount = f"quantity(string({value}))"
    near = f"{amount}.asApproximateFloat()"
    whole = f"({amount}.isInteger() ? {amount}.asInteger() : int({near} + 0.5))"
    return f'({resource} == "cpu" ? int({near} * 1000.0 + 0.5) : {whole})'


def _reclaimable() -> dict[str, str]:
    stale = "variables.elastic && variables.oldReclaimable.exists(o, o.name == r.name && o.count == r.count)"
    return {
        "variables.newReclaimable.all(r, r.name in variables.names)": (
            "status.reclaimablePods must name pod sets of the spec"
        ),
        "variables.newReclaimable.all(r, variables.newSets.all(s, s.name != r.name || "
        f"r.count <= s.?count.orValue(1)) || ({stale}))": (
            "a count in status.reclaimablePods must be at most that of the pod set"
        ),
        "!(variables.reserves && variables.reserved) || variables.reservedAgain || variables.elastic || "
        "variables.oldReclaimable.all(o, "
        "variables.newReclaimable.exists(r, r.name == o.name && r.count >= o.count))": (
            "counts in status.reclaimablePods can only rise while quota is reserved"
        ),
    }


def _checks() -> dict[str, str]:
    update = " && ".join(
        (
            "u.name in variables.names",
            tolerations_have_keys("u.?tolerations.orValue([])"),
            f"u.?annotations.orValue({{}}).all(k, {is_label_key('k.lowerAscii()')})",
            are_labels("u.?nodeSelector.orValue({})"),
            are_labels("u.?labels.orValue({})"),
        )
    )
    clusters = "status.?nominatedClusterNames.orValue([])"
    return {
        f"variables.newChecks.all(c, c.?podSetUpdates.orValue([]).all(u, {update}))": (
            "podSetUpdates of status.admissionChecks must name pod sets of the spec, and have keys and "
            "values that are valid for pods"
        ),
        'variables.newChecks.all(n, n.state != "Ready" || variables.oldChecks.all(o, o.name != n.name || '
        'o.state != "Ready" || n.?podSetUpdates == o.?podSetUpdates))': (
            "podSetUpdates of an admission check that is Ready are immutable"
        ),
        'request.operation == "CREATE" || variables.elastic || !object.?status.?clusterName.hasValue() || '
        "oldObject.?status.?clusterName.hasValue() || "
        f"object.status.clusterName in oldObject.?{clusters}": (
            "status.clusterName must be one of the nominatedClusterNames"
        ),
    }


def _gates() -> dict[str, str]:
    each = f"g.size() <= {GATE_LENGTH_MAX} && g.matches(r'{GATE}') && variables.gates.exists_one(h, h == g)"
    return {
        f"variables.gates.all(g, {each})": (
            f"the annotation {GATES_ANNOTATION} must be a list of different names such as example.com/gate, "
            f"separated by commas, each of at most {GATE_LENGTH_MAX} characters"
        ),
        'request.operation == "CREATE" || variables.gates.all(g, g in variables.oldGates)': (
            f"gates in the annotation {GATES_ANNOTATION} can be removed, not added"
        ),
    }


def _job() -> dict[str, str]:
    """Returns the rule that a Workload keeps its job: its quota would be used without it. Kueue has none."""
    label = f'metadata.?labels[?"{JOB_UID_LABEL}"]'
    unchanged = (
        "variables.oldControllers.all(o, o in variables.controllers) && "
        f"(!oldObject.{label}.hasValue() || object.{label} == oldObject.{label})"
    )
    return {
        f'request.operation == "CREATE" || ({unchanged}) || {MAY_DELETE_ANY}': (
            f"a Workload keeps its controller and the label {JOB_UID_LABEL}: delete it with its job"
        )
    }


def _gates_of(root: str) -> str:
    text = f'{root}.metadata.?annotations[?"{GATES_ANNOTATION}"].orValue("")'
    return f'{text} == "" ? [] : {text}.split(",").map(g, g.trim())'
