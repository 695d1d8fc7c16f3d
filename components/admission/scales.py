"""Policies for the scale subresource, by which `kubectl scale` and HorizontalPodAutoscalers write a number.

The API server checks a Scale instead of the object, and a Scale has neither the object's labels nor its
annotations (k8s.io/apiextensions-apiserver pkg/registry/customresource/etcd.go: scaleFromCustomResource). So
policies of queued objects do not apply, and no policy can distinguish a queued object from others: all are
refused to grow. From 0 groups this would start a job that waits for quota.
"""

from components.admission.ray import Engine, Policy, is_trusted, requests_of, suspends
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.kinds import JOB_KINDS
from settings.model.tenants.tenant import TENANT


def kept_scales(engine: Engine) -> list[Policy]:
    """Returns the policies for kinds of jobs whose size is a number of groups."""
    kinds = [kind for kind in JOB_KINDS if kind.count_annotation and suspends(engine, kind)]
    of_controllers = (_of_pod_controller(kind, engine) for kind in kinds if kind.pod_controller is not None)
    return [*(_of_kind(kind, engine) for kind in kinds), *of_controllers]


def _of_kind(kind: JobKind, engine: Engine) -> Policy:
    requests = requests_of(kind)
    new, old = (f"{root}.?{kind.suspend.replace('.', '.?')}.orValue(0)" for root in ("object", "oldObject"))
    return Policy(
        name=f"muster-{kind.plural}-do-not-grow-by-scale",
        group=requests["group"],
        version=requests["version"],
        resources=(f"{kind.plural}/scale",),
        operations=("UPDATE",),
        rules={
            f"{new} <= {old}": (
                f"in this namespace a {kind.name} cannot grow by its scale (kubectl scale, "
                f"HorizontalPodAutoscaler), which does not show whether a queue has quota for it: set "
                f"{kind.suspend} of one without a queue, and delete a queued one and create it again"
            )
        },
        namespaces=TENANT,
        exempt=is_trusted(engine, kind.operator),
    )


def _of_pod_controller(kind: JobKind, engine: Engine) -> Policy:
    """Returns the policy for the objects that the operator creates for the pods, which their selectors
    distinguish from others of the same kind."""
    controller = kind.pod_controller
    assert controller is not None
    of_operator = " || ".join(
        f'oldObject.?status.?selector.orValue("").contains("{domain}/")'
        for domain in kind.operator.label_domains
    )
    return Policy(
        name=f"muster-{controller.plural}-of-{kind.plural}-keep-their-scale",
        group=controller.group,
        resources=(f"{controller.plural}/scale",),
        operations=("UPDATE",),
        rules={
            f"!({of_operator}) || object.?spec == oldObject.?spec": (
                f"this {controller.name} is part of a {kind.name}, whose queue has quota for its pods: only "
                f"{kind.operator.name} scales it"
            )
        },
        exempt=is_trusted(engine, kind.operator),
    )
