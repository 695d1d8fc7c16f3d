"""Archives are built once for their inputs, and a failed build leaves nothing."""

import os
from pathlib import Path

import pytest

from sandbox.images.image import Image, Recipe, ensure_archive, key_of, tree_key
from tools.toolchain.steps import StepError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path))
    (tmp_path / "images").mkdir()
    return tmp_path / "images"


def test_an_archive_is_built_once(cache: Path) -> None:
    builds = []

    def build(path: Path) -> None:
        builds.append(path)
        path.write_text("content")

    recipe = Recipe("ray", ("docker.io/a:1", "docker.io/b:1"), "0123", 1, 1, build)
    assert [ensure_archive(recipe), ensure_archive(recipe)] == [True, False]
    assert len(builds) == 1
    assert recipe.archive.read_text() == "content"
    assert recipe.images == [
        Image("docker.io/a:1", cache / "ray-0123.tar"),
        Image("docker.io/b:1", cache / "ray-0123.tar"),
    ]


def test_a_failed_build_leaves_nothing(cache: Path) -> None:
    def build(path: Path) -> None:
        path.write_text("half")
        raise StepError("no package index")

    recipe = Recipe("ray", ("docker.io/a:1",), "0123", 1, 1, build)
    with pytest.raises(StepError):
        ensure_archive(recipe)
    assert list(cache.iterdir()) == []


def test_archives_that_were_used_last_are_kept(cache: Path) -> None:
    def recipe(key: str) -> Recipe:
        return Recipe("ray", ("docker.io/a:1",), key, 1, 1, lambda path: path.touch())

    (cache / "kuberay-0.tar").touch()
    for at, key in enumerate("0123"):
        ensure_archive(recipe(key))
        os.utime(recipe(key).archive, (at, at))
        if key == "2":
            ensure_archive(recipe("0"))  # used again
    assert {path.name for path in cache.iterdir()} == {"kuberay-0.tar", "ray-0.tar", "ray-2.tar", "ray-3.tar"}


def test_a_key_changes_with_each_input_and_each_boundary() -> None:
    inputs: list[list[bytes | str]] = [["a", "b"], ["b", "a"], ["ab"], ["ab", ""], ["a"], [b"a", "c"], []]
    assert len({key_of(parts) for parts in inputs}) == len(inputs)
    assert key_of([b"a", "b"]) == key_of(["a", b"b"])


PATHS = {
    "a": "a.py",
    "b": "folder/b.py",
    "other": "other/b.py",
    "page": "page.html",
    "bytecode": "folder/__pycache__/b.cpython-311.pyc",
}


def test_a_folders_key_changes_with_names_and_contents_of_its_sources(tmp_path: Path) -> None:
    def key(**files: str) -> str:
        folder = tmp_path / f"tree-{len(list(tmp_path.iterdir()))}"
        for name, content in files.items():
            path = folder / PATHS[name]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return tree_key(folder)

    same = key(a="1", b="2")
    assert same == key(b="2", a="1", bytecode="x")
    assert same not in {key(a="1"), key(a="2", b="1"), key(a="1", other="2"), key(a="1", b="2", page="")}
