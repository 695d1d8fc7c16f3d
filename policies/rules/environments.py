"""The environment that a stack declares, and the projects in which it may be."""

from collections.abc import Iterator

from policies.reading import TEXT_LIST
from policies.rule import Config, Resource, resource_rule


@resource_rule(
    "muster-project-of-environment",
    "gcp:*",
    source="a stack that names another environment would be checked by weaker policies",
    severity="critical",
    parameters={"projects": TEXT_LIST},
)
def project_of_environment(resource: Resource, config: Config) -> Iterator[str]:
    """Resources are in a project of the stack's environment: the policies of every environment but prod are
    weaker, so these environments list their projects."""
    project, projects = resource.props.get("project"), config.get("projects")
    if project is not None and projects is not None and project not in projects:
        environment = config["environment"]
        yield (
            f"declare the environment of project {project} (muster:environment), which is not {environment}, "
            f"or add it to policies/config/{environment}.json"
        )
