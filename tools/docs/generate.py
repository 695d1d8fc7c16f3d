"""Writes all generated docs."""

from components.observability.grafana import grafana_files
from package import schema as package_schema
from policies import benchmark
from policies import reference as policies_reference
from settings.reference import reference
from settings.rules_reference import rules_reference
from tools.docs import cli_reference, metrics_reference, ray_fields, workload_phases
from tools.docs.deploying_roles import write_roles
from tools.docs.layers_diagram import write_diagrams
from tools.docs.sections import GeneratedSection
from tools.toolchain.paths import CHECKOUT


def docs() -> int:
    """Writes the generated docs: references from models, the metrics registry and commands, diagrams from the
    import contracts, Grafana dashboards, and the IAM roles of the deploying identity from the plans."""
    (CHECKOUT / "docs" / "settings.md").write_text(reference())
    (CHECKOUT / "docs" / "settings-rules.md").write_text(rules_reference())
    (CHECKOUT / "docs" / "metrics.md").write_text(metrics_reference.reference())
    (CHECKOUT / "docs" / "cli.md").write_text(cli_reference.reference())
    ray_fields.PAGE.write_text(ray_fields.page(ray_fields.PAGE.read_text()))
    workload_phases.PAGE.write_text(workload_phases.page())
    for name, text in grafana_files().items():
        (CHECKOUT / "examples" / "grafana" / name).write_text(text)
    write_diagrams()
    write_roles()
    write_policies()
    package_schema.FILE.write_text(package_schema.text())
    return 0


def write_policies() -> None:
    """Writes the tables of policies/README.md and docs/cis.md."""
    for file, source in (("policies/README.md", policies_reference), ("docs/cis.md", benchmark)):
        page, section = CHECKOUT / file, GeneratedSection(source.BEGIN, source.END)
        page.write_text(section.put(page.read_text(), source.table()))
