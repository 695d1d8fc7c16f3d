"""CEL for the pod templates of a job, for example of a Ray object's head, submitter and worker groups."""

from components.admission.ray import optional, value_at, values_at
from muster.cluster.jobs.job_kind import JobKind, PodGroups


def head(kind: JobKind) -> str:
    """Returns the path of the head's group in objects of the kind."""
    return f"{kind.ray_cluster}.headGroupSpec"


def group_variables(kind: JobKind) -> dict[str, str]:
    """CEL variables for the groups of pods before and after the request; none before a creation, and no
    variables for a kind without groups."""
    if kind.groups is None:
        return {}
    return {
        "groups": value_at("object", kind.groups.path, "[]"),
        "oldGroups": from_old_object(value_at("oldObject", kind.groups.path, "[]")),
    }


def template_variables(kind: JobKind) -> dict[str, str]:
    """CEL variables for all pod templates before and after the request, and `group_variables`."""
    return group_variables(kind) | {
        "templates": _templates(kind, "object", "variables.groups"),
        "oldTemplates": from_old_object(_templates(kind, "oldObject", "variables.oldGroups")),
    }


def _templates(kind: JobKind, root: str, groups: str) -> str:
    lists = [values_at(root, kind.templates)] if kind.templates else []
    if kind.groups is not None:
        template = kind.groups.template
        lists.append(f"{groups}.filter(g, g.?{in_group(template)}.hasValue()).map(g, g.{template})")
    return " + ".join(lists)


def in_group(path: str) -> str:
    """CEL for a path in a group, of which each field may be missing."""
    return path.replace(".", ".?")


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
    """Returns `same` for each template, one expression each; groups are matched by name."""
    pairs = [(optional("object", path), optional("oldObject", path)) for path in kind.templates]
    in_templates = []
    if kind.groups is not None:
        template = in_group(kind.groups.template)
        in_templates.append(same_in_groups(kind.groups, tuple(f"{template}.?{path}" for path in paths)))
    return [*(same(new, old, paths) for new, old in pairs), *in_templates]


def same_in_groups(groups: PodGroups, paths: tuple[str, ...]) -> str:
    """Returns CEL for: these fields of each group that remains do not change."""
    of_groups, name = same("n", "o", paths), groups.name
    return f"variables.groups.all(n, variables.oldGroups.all(o, n.{name} != o.{name} || ({of_groups})))"
