"""CEL for the pod templates of a Ray object: of its head, its submitter and its worker groups."""

from components.admission.ray import RAY_JOB, RayKind, optional, value_at


def head(kind: RayKind) -> str:
    return f"{kind.cluster}.headGroupSpec"


def single_templates(kind: RayKind) -> list[str]:
    """Paths of the templates that are not in a worker group."""
    submitter = ["spec.submitterPodTemplate"] if kind is RAY_JOB else []
    return [f"{head(kind)}.template", *submitter]


def group_variables(kind: RayKind) -> dict[str, str]:
    """CEL variables for the worker groups before and after the request; none before a creation."""
    groups = f"{kind.cluster}.workerGroupSpecs"
    return {
        "groups": value_at("object", groups, "[]"),
        "oldGroups": from_old_object(value_at("oldObject", groups, "[]")),
    }


def template_variables(kind: RayKind) -> dict[str, str]:
    """CEL variables for all pod templates before and after the request, and `group_variables`."""
    return group_variables(kind) | {
        "templates": _templates(kind, "object", "variables.groups"),
        "oldTemplates": from_old_object(_templates(kind, "oldObject", "variables.oldGroups")),
    }


def _templates(kind: RayKind, root: str, groups: str) -> str:
    single = ", ".join(f"?{optional(root, path)}" for path in single_templates(kind))
    return f"[{single}] + {groups}.filter(g, has(g.template)).map(g, g.template)"


def from_old_object(of_old_object: str) -> str:
    """CEL for a list that is read from oldObject; empty for a creation, which has no oldObject."""
    return f'request.operation == "CREATE" ? [] : ({of_old_object})'


def annotations(templates: str) -> str:
    """CEL for the annotations of each of these templates, as a list of maps."""
    return f"{templates}.map(t, t.?metadata.?annotations.orValue({{}}))"


def same(new: str, old: str, paths: tuple[str, ...]) -> str:
    """CEL for: the values at these paths of `new` and `old` are equal, or both are missing."""
    return " && ".join(f"{new}.?{path} == {old}.?{path}" for path in paths)


def same_in_all(kind: RayKind, paths: tuple[str, ...]) -> list[str]:
    """Returns `same` for each template, one expression each; worker groups are matched by name."""
    pairs = [(optional("object", path), optional("oldObject", path)) for path in single_templates(kind)]
    return [
        *(same(new, old, paths) for new, old in pairs),
        same_in_groups(tuple(f"template.?{path}" for path in paths)),
    ]


def same_in_groups(paths: tuple[str, ...]) -> str:
    of_groups = same("n", "o", paths)
    return f"variables.groups.all(n, variables.oldGroups.all(o, n.groupName != o.groupName || ({of_groups})))"
