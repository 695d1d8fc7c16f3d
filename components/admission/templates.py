"""CEL for the pod templates of a job: of a Ray object's head, submitter and worker groups."""

from components.admission.ray import optional, value_at
from muster.cluster.jobs.job_kind import JobKind


def head(kind: JobKind) -> str:
    """Returns the path of the head's group in objects of the kind."""
    return f"{kind.ray_cluster}.headGroupSpec"


def group_variables(kind: JobKind) -> dict[str, str]:
    """CEL variables for the worker groups before and after the request; none before a creation, and no
    variables for a kind without groups."""
    if not kind.groups:
        return {}
    return {
        "groups": value_at("object", kind.groups, "[]"),
        "oldGroups": from_old_object(value_at("oldObject", kind.groups, "[]")),
    }


def template_variables(kind: JobKind) -> dict[str, str]:
    """CEL variables for all pod templates before and after the request, and `group_variables`."""
    return group_variables(kind) | {
        "templates": _templates(kind, "object", "variables.groups"),
        "oldTemplates": from_old_object(_templates(kind, "oldObject", "variables.oldGroups")),
    }


def _templates(kind: JobKind, root: str, groups: str) -> str:
    single = f"[{', '.join(f'?{optional(root, path)}' for path in kind.templates)}]"
    return f"{single} + {groups}.filter(g, has(g.template)).map(g, g.template)" if kind.groups else single


def from_old_object(of_old_object: str) -> str:
    """CEL for a list that is read from oldObject; empty for a creation, which has no oldObject."""
    return f'request.operation == "CREATE" ? [] : ({of_old_object})'


def annotations(templates: str) -> str:
    """CEL for the annotations of each of these templates, as a list of maps."""
    return f"{templates}.map(t, t.?metadata.?annotations.orValue({{}}))"


def same(new: str, old: str, paths: tuple[str, ...]) -> str:
    """CEL for: the values at these paths of `new` and `old` are equal, or both are missing."""
    return " && ".join(f"{new}.?{path} == {old}.?{path}" for path in paths)


def same_in_all(kind: JobKind, paths: tuple[str, ...]) -> list[str]:
    """Returns `same` for each template, one expression each; worker groups are matched by name."""
    pairs = [(optional("object", path), optional("oldObject", path)) for path in kind.templates]
    groups = [same_in_groups(tuple(f"template.?{path}" for path in paths))] if kind.groups else []
    return [*(same(new, old, paths) for new, old in pairs), *groups]


def same_in_groups(paths: tuple[str, ...]) -> str:
    """Returns CEL for: these fields of each worker group that remains do not change."""
    of_groups = same("n", "o", paths)
    return f"variables.groups.all(n, variables.oldGroups.all(o, n.groupName != o.groupName || ({of_groups})))"
