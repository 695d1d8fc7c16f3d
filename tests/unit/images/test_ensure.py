"""Missing rights and disk are reported before anything is built."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from sandbox.images import apt, buildah, ensure
from sandbox.images.image import Recipe
from tools.toolchain.steps import Screen, StepError

PLENTY = 1 << 50


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that lacks nothing, with an empty cache."""
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path))
    lack(monkeypatch, None)
    free(monkeypatch, PLENTY)


def lack(monkeypatch: pytest.MonkeyPatch, reason: str | None) -> None:
    monkeypatch.setattr(buildah, "missing", lambda: reason)
    monkeypatch.setattr(apt, "missing", lambda: None)


def free(monkeypatch: pytest.MonkeyPatch, free_bytes: int) -> None:
    def disk_usage(path: Path) -> SimpleNamespace:
        path.stat()  # the real function also fails for a folder that does not exist
        return SimpleNamespace(free=free_bytes)

    monkeypatch.setattr("shutil.disk_usage", disk_usage)


def refuse(what: str) -> Callable[[Screen, str], list[Recipe]]:
    def recipes(_screen: Screen, _engine: str) -> list[Recipe]:
        pytest.fail(what)

    return recipes


def recipe(title: str, size: int) -> Recipe:
    return Recipe(title, (f"docker.io/{title}:1",), "key", size, 1, lambda path: path.touch())


def use(monkeypatch: pytest.MonkeyPatch, *recipes: Recipe) -> None:
    monkeypatch.setattr(ensure, "is_extracted", lambda _packages: True)
    monkeypatch.setattr(ensure, "find_tool", lambda tool: tool)
    monkeypatch.setattr(ensure, "image_recipes", lambda _screen, _engine: recipes)


@pytest.mark.parametrize("case", ["disk", "root"])
def test_nothing_is_built_on_a_machine_that_lacks_something(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ensure, "image_recipes", refuse("packages were downloaded before the check"))
    if case == "disk":
        free(monkeypatch, ensure.bytes_to_build("muster") - 1)
    else:
        lack(monkeypatch, "run this as root")
    message = {"disk": r"the images need .* GB in .*, where .* GB are free", "root": "run this as root"}[case]
    with pytest.raises(StepError, match=message):
        ensure.ensure_images(Screen(), "muster")


def test_disk_is_measured_in_a_new_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path / "new"))
    ensure.check(ensure.bytes_to_build("muster"))


def test_images_in_the_cache_need_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, recipe("a", 100), recipe("b", 10))
    assert ensure.bytes_to_build("muster") == 110
    names = [image.name for image in ensure.ensure_images(Screen(), "muster")]
    assert names == ["docker.io/a:1", "docker.io/b:1"]
    assert ensure.bytes_to_build("muster") == 0
    free(monkeypatch, 0)
    lack(monkeypatch, "run this as root")
    assert [image.name for image in ensure.ensure_images(Screen(), "muster")] == names


def test_only_missing_images_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, recipe("a", 100))
    ensure.ensure_images(Screen(), "muster")
    use(monkeypatch, recipe("a", 100), recipe("b", 10))
    assert ensure.bytes_to_build("muster") == 10


def test_an_empty_cache_needs_more_than_one_without_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ensure, "is_extracted", lambda _packages: False)
    from_nothing = ensure.bytes_to_build("muster")
    monkeypatch.setattr(ensure, "is_extracted", lambda _packages: True)
    monkeypatch.setattr(ensure, "find_tool", lambda _tool: None)
    assert from_nothing > ensure.bytes_to_build("muster") == ensure.all_bytes("muster")


def test_the_engine_kueue_has_an_image_of_its_own() -> None:
    assert ensure.all_bytes("kueue") > ensure.all_bytes("muster")
