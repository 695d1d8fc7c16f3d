"""Policies for RayCronJobs, whose RayJobs KubeRay creates without labels.

A RayCronJob has the labels of its queue, like any job. KubeRay copies `jobTemplate` only
(ray-operator/controllers/ray/raycronjob_controller.go: constructRayJob at v1.6.2). So one mutation copies the
labels into `jobTemplate.metadata`, a map that Ray stores with the job, and another one copies them from there
to the labels of each RayJob, which it suspends. The policies for users' RayJobs apply to these RayJobs
(asked_by_users in ray.py). As KubeRay reports a refused RayJob in its log only, the same rules check the
template first.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import replace

from components.admission.autoscaling import autoscales
from components.admission.queues import Mutation
from components.admission.ray import (
    Engine,
    Policy,
    Requests,
    is_schedule,
    is_trusted,
    requests_of,
    spec_is_written,
)
from muster.cluster.jobs.kuberay import OWNER_NAME_MAX
from muster.cluster.jobs.rayjob import RAY_CRON_JOB, RAY_JOB
from muster.objects.names import ELASTIC_ANNOTATION, MAX_EXEC_TIME_LABEL, PRIORITY_LABEL, QUEUE_LABEL
from settings.model.tenants.tenant import TENANT

COPIED = (QUEUE_LABEL, PRIORITY_LABEL, MAX_EXEC_TIME_LABEL)
PLURAL, TEMPLATE = RAY_CRON_JOB.plural, "spec.jobTemplate"
REQUESTS: Requests = {**requests_of(RAY_JOB), "resources": (PLURAL,)}
_SUFFIX = "-00000"  # KubeRay appends as many characters to the name of a RayCronJob for that of a RayJob
_NAME_MAX = OWNER_NAME_MAX - len(_SUFFIX)
SHORT_NAMES = Policy(
    name=f"muster-queued-{PLURAL}-have-short-names",
    resources=(PLURAL,),
    operations=("CREATE",),
    rules={
        f"object.metadata.name.size() <= {_NAME_MAX}": (
            f"the name of a queued RayCronJob has at most {_NAME_MAX} characters, as KubeRay appends "
            f"{len(_SUFFIX)} for each RayJob and rejects longer names than {OWNER_NAME_MAX}: choose a "
            "shorter one"
        )
    },
    label=QUEUE_LABEL,
)
_METADATA = f"object.{TEMPLATE}.?metadata"
_IS_OF_QUEUED_SCHEDULE = (
    f'object.spec.?metadata[?"{QUEUE_LABEL}"].hasValue() && '
    "object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false) && "
    f"{is_schedule('o', RAY_CRON_JOB)})"
)
_TEMPLATE_IS_WRITTEN = (
    f'request.operation == "CREATE" || object.{TEMPLATE} != oldObject.{TEMPLATE} || '
    "object.metadata.?labels != oldObject.metadata.?labels"
)


def labelling_mutations() -> dict[str, Mutation]:
    """Returns the mutations that put the RayJobs of a RayCronJob into its queue, by name. The labels are
    copied again on each update."""
    return {
        f"muster-{PLURAL}-name-their-queue": Mutation(
            REQUESTS,
            "Object{spec: Object.spec{jobTemplate: Object.spec.jobTemplate{"
            f"metadata: {_copies('object.metadata.?labels')}}}}}}}",
            patches=tuple(_removal(key) for key in COPIED),
            operations=("CREATE", "UPDATE"),
            label="",
            condition=f"{_any_in('object.metadata.?labels')} || {_any_in(_METADATA)}",
        ),
        f"muster-{RAY_JOB.plural}-of-{PLURAL}-are-queued": Mutation(
            requests_of(RAY_JOB),
            f"Object{{metadata: Object.metadata{{labels: {_copies('object.spec.?metadata')}}}, "
            "spec: Object.spec{suspend: true}}",
            label="",
            condition=_IS_OF_QUEUED_SCHEDULE,
        ),
    }


def annotating_mutations() -> dict[str, Mutation]:
    """Returns the mutations by which Kueue resizes autoscaled RayJobs of a RayCronJob (elastic_jobs.py). That
    of other queued RayJobs does not match these, which have no label yet."""
    annotated = f'Object{{metadata: Object.metadata{{annotations: {{"{ELASTIC_ANNOTATION}": "true"}}}}}}'
    is_autoscaled = autoscales(RAY_JOB)
    return {
        f"muster-queued-autoscaled-{PLURAL}-are-elastic": Mutation(
            REQUESTS,
            annotated,
            operations=("CREATE", "UPDATE"),
            condition=f"{_in_template(is_autoscaled)} == true",
        ),
        f"muster-autoscaled-{RAY_JOB.plural}-of-{PLURAL}-are-elastic": Mutation(
            requests_of(RAY_JOB),
            annotated,
            label="",
            condition=f"{_IS_OF_QUEUED_SCHEDULE} && {is_autoscaled}",
        ),
    }


def _copies(labels: str) -> str:
    """CEL for a map of the entries of `labels` that are copied."""
    entries = (f'?"{key}": {labels}[?"{key}"]' for key in COPIED)
    return f"{{{', '.join(entries)}}}"


def _any_in(labels: str) -> str:
    """CEL for: at least one entry is copied."""
    return f"{json.dumps(COPIED)}.exists(k, k in {labels}.orValue({{}}))"


def _removal(key: str) -> str:
    """CEL for the JSON patch that removes a copy whose label was removed."""
    path = f'"/spec/jobTemplate/metadata/" + jsonpatch.escapeKey("{key}")'
    stale = f'{_METADATA}[?"{key}"].hasValue() && !object.metadata.?labels[?"{key}"].hasValue()'
    return f'{stale} ? [JSONPatch{{op: "remove", path: {path}}}] : []'


def checked_templates(policies: Iterable[Policy]) -> list[Policy]:
    """Returns the policies that apply to new RayJobs, for the templates of RayCronJobs."""
    return [
        _of_template(policy)
        for policy in policies
        if policy.group == RAY_JOB.kind.group
        and RAY_JOB.plural in policy.resources
        and "CREATE" in policy.operations
    ]


def _of_template(policy: Policy) -> Policy:
    """Returns the policy with the paths of a template. An update that leaves the template unchanged passes,
    so that an invalid RayCronJob can be suspended and its finalizers removed."""
    rules = {_in_template(rule): _message(text) for rule, text in policy.rules.items()}
    condition = f"({_in_template(policy.condition)}) && " if policy.condition else ""
    return replace(
        policy,
        name=_name(policy.name),
        resources=(PLURAL,),
        operations=("CREATE", "UPDATE"),
        rules=rules,
        condition=f"{condition}({_TEMPLATE_IS_WRITTEN})",
        variables={name: _in_template(value) for name, value in policy.variables.items()},
    )


def _name(name: str) -> str:
    return name.replace(f"-{RAY_JOB.plural}-", f"-{PLURAL}-").replace("-ray-needs-", f"-{PLURAL}-need-")


def _in_template(expression: str) -> str:
    """Returns the CEL of a RayJob for the RayJob that KubeRay will create next, as for a creation."""
    for operation, value in (("CREATE", "true"), ("UPDATE", "false")):
        expression = expression.replace(f'request.operation == "{operation}"', value)
    in_template = re.sub(r"\b(object|oldObject)\.spec\b", rf"\1.{TEMPLATE}", expression)
    return in_template.replace("object.metadata.name", f'(object.metadata.name + "{_SUFFIX}")')


def _message(text: str) -> str:
    in_template = re.sub(r"(?<![\w.])spec[.]", f"{TEMPLATE}.", text)
    return f"each RayJob of this RayCronJob: {in_template}"


def no_ray_cron_jobs(engine: Engine) -> Policy:
    """Returns the policy of stacks that cannot put the RayJobs of a RayCronJob into a queue: with engine kai,
    which has its own labels, and on clusters without MutatingAdmissionPolicy."""
    reason = (
        "with engine kai nothing labels them"
        if engine == "kai"
        else "Kubernetes before 1.36 can't label them"
    )
    return Policy(
        name=f"muster-tenants-have-no-{PLURAL}",
        resources=(PLURAL,),
        operations=("CREATE", "UPDATE"),
        rules={
            "false": (
                f"a RayCronJob would create RayJobs outside the queues, as {reason}: create RayJobs with the "
                "label of a queue on your own schedule, such as a CronJob that runs kubectl create"
            )
        },
        namespaces=TENANT,
        condition=f"!({is_trusted(engine)}) && ({spec_is_written()})",
    )
