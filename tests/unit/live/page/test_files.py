"""The files of the page load nothing from elsewhere, and set text as text."""

import re

import pytest

from muster.live.page.files import ASSETS, FILES, SCRIPTS, STYLES

TEXTS = {path: text() for path, (_, text) in FILES.items()}
OWN = {name: (ASSETS / name).read_text(encoding="utf-8") for name in (*SCRIPTS, *STYLES, "page.html")}


def test_every_asset_is_served() -> None:
    assert {file.name for file in ASSETS.iterdir()} == set(OWN)


@pytest.mark.parametrize("path", TEXTS)
def test_no_file_names_another_server(path: str) -> None:
    assert re.findall(r"(?:https?:)?//[a-z0-9]", TEXTS[path].replace("http://www.w3.org/", "")) == []


def test_page_has_no_script_and_no_style_of_its_own() -> None:
    page = TEXTS["/"]
    assert re.findall(r"<script[^>]*>", page) == ['<script src="page.js" defer>']
    assert re.findall(r"<style|\sstyle=|\son\w+=", page) == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_never_make_markup_or_code_of_text(name: str) -> None:
    refused = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|DOMParser"
    assert re.findall(refused, OWN[name]) == []


def test_elements_that_scripts_name_exist() -> None:
    named = set(re.findall(r'byId\("([\w-]+)"\)', "".join(OWN[name] for name in SCRIPTS)))
    assert named <= set(re.findall(r'id="([\w-]+)"', TEXTS["/"]))
