"""Queued objects that Ray's autoscaler scales: which engines admit them, and what Kueue needs to resize them.

Kueue resizes only objects that were created with its annotation, and counts all others once
(pkg/controller/jobs/raycluster/raycluster_webhook.go and common.go at v0.19.2).
"""

from components.admission.autoscaling import autoscales
from components.admission.queues import Mutation
from components.admission.ray import RAY_KINDS, Engine, any_is_true, requests_of
from components.admission.templates import from_old_object
from muster.cluster.jobs.job_kind import JobKind
from muster.objects.names import ELASTIC_ANNOTATION, ELASTIC_GATE


def autoscaled_as_created(kind: JobKind, engine: Engine, autoscaled: bool) -> dict[str, str]:
    """Returns the rules for queued objects: whether they are autoscaled does not change. Where the engine
    reserves quota for a gang of one size (not `autoscaled`), they are not, even on creation, as KubeRay would
    create the Role before the gang is admitted."""
    field, before = f"{kind.ray_cluster}.enableInTreeAutoscaling", autoscales(kind, "oldObject")
    if not autoscaled:
        return {
            f"!{autoscales(kind)} || ({from_old_object(f'[{before}]')}).exists(b, b)": (
                f"a queued {kind.name} can't grow, so it can't be autoscaled: leave {field} off, or run it "
                "outside all queues"
            )
        }
    rules = {
        f"({from_old_object(f'[{before}]')}).all(b, b == {autoscales(kind)})": (
            f"the quota of a queued {kind.name} depends on whether it is autoscaled: to change {field}, "
            "delete it and create it again"
        )
    }
    return rules | (_annotated_for_kueue(kind) if engine == "kueue" else {})


def _annotated_for_kueue(kind: JobKind) -> dict[str, str]:
    same = f"{_annotated('object')} == {_annotated('oldObject')}"
    return {
        f'request.operation == "CREATE" ? !{autoscales(kind)} || {_annotated("object")} : {same}': (
            f"Kueue resizes a queued {kind.name} only if it was created with the annotation "
            f'{ELASTIC_ANNOTATION}: "true": create an autoscaled one with it, and do not change it later'
        )
    }


def _annotated(root: str) -> str:
    return f'({root}.metadata.?annotations[?"{ELASTIC_ANNOTATION}"].orValue("") == "true")'


def gates_at_creation(engine: Engine) -> str:
    """CEL for: pods are scheduled as soon as the gang is admitted. Kueue's webhooks put its own gate into the
    pod templates of annotated objects, and require it; Kueue removes it from the pods that have quota."""
    gates = "t.?spec.?schedulingGates.orValue([])"
    if engine != "kueue":
        return f"variables.templates.all(t, {gates}.size() == 0)"
    ours = f'{_annotated("object")} && g.name == "{ELASTIC_GATE}"'
    return f"variables.templates.all(t, {gates}.all(g, {ours}))"


def annotating_mutation() -> Mutation:
    """Returns the mutation by which Kueue resizes autoscaled objects. MutatingAdmissionPolicies precede
    webhooks, so Kueue's webhooks read the annotation."""
    paths = [f"{kind.ray_cluster}.enableInTreeAutoscaling" for kind in RAY_KINDS]
    entry = f'?"{ELASTIC_ANNOTATION}": {any_is_true("object", paths)} ? optional.of("true") : optional.none()'
    return Mutation(
        requests_of(*RAY_KINDS),
        f"Object{{metadata: Object.metadata{{annotations: {{{entry}}}}}}}",
    )
