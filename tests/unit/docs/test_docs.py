"""Checks of the pages in docs/: links, make targets, settings, policies, and every stack that they show."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from components.admission.policies import AdmissionPoliciesArgs, validating_policies
from components.admission.queues import suspending_mutations
from components.admission.schedules import labelling_mutations
from policies.rules import RULES
from settings.load import parse
from settings.model.split import SPLIT, Split
from settings.model.stack import Settings
from settings.reference import anchor, models_inside
from tests.unit.docs.markdown import BLOCK, CODE, LINK, NEW_FILE, ROOT
from tests.unit.settings.builders import GOOD

PAGES = [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*.md"))]
TARGET = re.compile(r"\bmake ([a-z]+)")
SETTING = re.compile(r"muster:[\w.\[\]<>]+")
TEST = re.compile(r"`(tests/[\w./-]+\.py)::(\w+)`")
POLICY = re.compile(r"(?:cis-gke|muster)-[\w.-]+")


class Block(NamedTuple):
    """A fenced block: its language, and the text between the fences."""

    page: str
    language: str
    text: str


def blocks() -> Iterator[Block]:
    for page in PAGES:
        for match in BLOCK.finditer(page.read_text()):
            yield Block(page.name, match[1], match[2])


def prose(page: Path) -> str:
    return NEW_FILE.sub("", BLOCK.sub("", page.read_text()))


def code(page: Path) -> list[str]:
    """Returns text in backticks, and the lines of blocks with commands."""
    commands = [b.text for b in blocks() if b.page == page.name and not b.language]
    return [*CODE.findall(prose(page)), *(line for text in commands for line in text.splitlines())]


def anchors(page: Path) -> set[str]:
    lines = prose(page).splitlines()
    return {anchor(line.lstrip("#").strip()) for line in lines if line.startswith("#")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_has_a_target(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        if link.startswith("https:"):
            continue
        file, _, section = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{link}: no such file"
        if section:
            assert section in anchors(target), f"{link}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_target_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {target for text in code(page) for target in TARGET.findall(text)}
    assert named <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_in_backticks_exists(page: Path) -> None:
    folders = "components|docs|examples|muster|policies|sandbox|stacks|tests"
    files = [text for text in code(page) if re.fullmatch(rf"(?:{folders})/[\w./-]*", text)]
    assert [file for file in files if not (ROOT / file).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_named_test_exists(page: Path) -> None:
    assert [name for name in TEST.findall(prose(page)) if not is_test(*name)] == []


def is_test(file: str, function: str) -> bool:
    path = ROOT / file
    return path.is_file() and f"\ndef {function}(" in path.read_text()


def test_the_index_lists_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {link.partition("#")[0] for link in LINK.findall(index.read_text())}
    pages = {page.name for page in index.parent.glob("*.md") if page != index}
    assert pages - listed == set()


def test_every_attack_names_its_test() -> None:
    _, section = (ROOT / "docs" / "security.md").read_text().split("\n## Attacks and defenses\n")
    rows = [line for line in section.split("\n## ")[0].splitlines() if line.startswith("| ")]
    attacks = [line for line in rows if line != "| attack | defense | test |"]
    assert attacks
    assert [attack for attack in attacks if not TEST.search(attack.split(" | ")[2])] == []


COUNTS = re.compile(r"\b[0-9]+ (?:resources|to create)\b")


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_no_page_counts_the_resources_of_a_stack(page: Path) -> None:
    """Counts change with every component; tests/stacks/golden has the current ones."""
    assert COUNTS.findall(page.read_text()) == []


def settings_paths() -> set[str]:
    """Returns every path of a stack file, without the brackets of lists and the names in mappings."""
    names = set()

    def walk(model: Any, prefix: str) -> None:
        for name, key in model.model_fields.items():
            place = f"{prefix}{key.alias or name}"
            names.add(place)
            for _, inner in models_inside(key.annotation, place):
                walk(inner, f"{place}.")

    walk(Settings, "")
    walk(Split, f"{SPLIT}.")
    return {*names, SPLIT}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_named_setting_exists(page: Path) -> None:
    named = {path for text in CODE.findall(prose(page)) for path in SETTING.findall(text)}
    plain = {re.sub(r"\[\d*\]|\.<name>", "", path) for path in named}
    assert plain <= settings_paths()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_named_policy_exists(page: Path) -> None:
    policies = [
        policy
        for mutates in (True, False)
        for policy in validating_policies(AdmissionPoliciesArgs("muster", mutates, max_pods=1))
    ]
    defaults = (
        {rule.id for rule in RULES}
        | {policy.name for policy in policies}
        | set(suspending_mutations("muster"))
        | set(labelling_mutations())
    )
    named = {text for text in CODE.findall(prose(page)) if POLICY.fullmatch(text)}
    assert named <= defaults


def merged(base: Any, over: Any) -> Any:
    """Merges `over` into `base`: mappings by key, lists by the name or namespace of their entries."""
    if isinstance(base, Mapping) and isinstance(over, Mapping):
        return {**base, **{key: merged(base.get(key), value) for key, value in over.items()}}
    if isinstance(base, list) and isinstance(over, list):
        named = {_name(entry): entry for entry in base}
        named |= {_name(entry): merged(named.get(_name(entry)), entry) for entry in over}
        return list(named.values())
    return over


def _name(entry: Any) -> str:
    return str(entry.get("name") or entry["namespace"]) if isinstance(entry, Mapping) else str(entry)


def completed(content: Mapping[str, Any]) -> Any:
    """Returns a shown part of a stack in a valid one; an image that it builds takes the place of another."""
    config = merged(GOOD, content)
    if split := config.pop(SPLIT, None):
        Split.model_validate(split, strict=True)
    if "build" in content.get("muster:controller", {}):
        del config["muster:controller"]["image"]
    return config


SHOWN = [
    (block, content["config"] if "config" in content else completed(content))
    for block in blocks()
    if block.language == "yaml"
    for content in [yaml.safe_load(block.text)]
    if any(key == "config" or key.startswith("muster:") for key in content)
]


@pytest.mark.parametrize(("block", "config"), SHOWN, ids=[block.page for block, _ in SHOWN])
def test_every_shown_stack_is_valid(block: Block, config: dict[str, Any]) -> None:
    parse(config, block.page)


def test_pages_on_pools_teams_upgrades_and_security_show_stacks() -> None:
    assert {block.page for block, _ in SHOWN} >= {
        "adding-a-pool.md",
        "adding-a-team.md",
        "security.md",
        "settings.md",
        "upgrading.md",
    }
