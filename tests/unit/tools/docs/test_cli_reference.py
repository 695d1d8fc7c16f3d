"""docs/cli.md is what the commands declare."""

from muster.cli.main import VERBS
from tools.docs.cli_reference import reference
from tools.toolchain.paths import CHECKOUT


def test_the_page_of_commands_is_up_to_date() -> None:
    page = CHECKOUT / "docs" / "cli.md"
    assert page.read_text() == reference(), "write it with: make docs"


def test_every_verb_has_a_section_with_its_usage() -> None:
    sections = {text.partition("\n")[0]: text for text in reference().split("\n## ")}
    for verb in VERBS:
        assert f"```\nmuster {verb} [OPTIONS]" in sections[f"muster {verb}"]


def test_lines_that_belong_together_are_blocks() -> None:
    assert "\n```\nexample:\n  muster recommend --stack prod" in reference()


def test_cells_of_the_table_keep_its_columns() -> None:
    rows = [line for line in reference().splitlines() if line.startswith("| `")]
    assert len(rows) > 20
    assert [row for row in rows if row.replace("\\|", "").count("|") != 3] == []
