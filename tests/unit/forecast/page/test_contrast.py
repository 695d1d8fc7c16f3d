"""Text has the contrast that WCAG 2.2 asks for at level AA (4.5), in both color schemes and on bars."""

import re

import pytest

from muster.forecast.page.page import ASSETS

TEXT, GRAPHIC = 4.5, 3.0
BARS = ("finished", "preempted", "failed", "not-provisioned", "horizon", "deactivated", "cancelled")


def _schemes() -> dict[str, dict[str, str]]:
    """Returns the style sheet's colors by name, of the light scheme and of the dark one."""
    css = (ASSETS / "base.css").read_text()
    light, dark = re.findall(r":root[^{]*\{([^}]*)\}", css)[:2]
    first, second = (dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in (light, dark))
    return {"light": first, "dark": {**first, **second}}


def _luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(color: str, other: str) -> float:
    low, high = sorted((_luminance(color), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("front", "back", "least"),
    [
        *(
            (text, back, TEXT)
            for text in ("text", "muted", "accent", "better", "worse")
            for back in ("panel", "page")
        ),
        *(("on-bar", bar, TEXT) for bar in BARS),
        *((line, "panel", GRAPHIC) for line in ("in-use", "pending", "quota")),
    ],
)
def test_contrast(scheme: str, front: str, back: str, least: float) -> None:
    colors = _schemes()[scheme]
    assert _contrast(colors[front], colors[back]) >= least
