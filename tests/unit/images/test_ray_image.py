"""The image of Ray has the names that examples use, and its commands run in it."""

import re

import pytest

from sandbox.images.ray import EXAMPLES, manifests, named_in, with_image_python

LONG = b"#!/bin/sh\n'''exec' '/a/long path/bin/python3' \"$0\" \"$@\"\n' '''\n"


def test_every_image_of_ray_in_the_examples_is_named() -> None:
    texts = [path.read_text() for path in manifests()]
    names = {match for text in texts for match in re.findall(r"rayproject/ray:[\w.-]+", text)}
    assert names
    assert set(named_in(texts)) == names
    assert EXAMPLES / "dev-train.rayjob.yaml" in manifests()


def test_an_image_that_needs_more_than_ray_is_not_named() -> None:
    assert named_in(
        ["image: rayproject/ray-llm:2\n", "- image: rayproject/ray:1\n  image: rayproject/ray:1\n"]
    ) == ["rayproject/ray:1"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (b"#!/cache/bin/python\nimport sys\n", b"#!/usr/bin/python3\nimport sys\n"),
        (b"#!/cache/bin/python3.11\nimport sys\n", b"#!/usr/bin/python3\nimport sys\n"),
        (LONG + b"import sys\n", b"#!/usr/bin/python3\nimport sys\n"),
        (b"#!/bin/sh\necho python\n", b"#!/bin/sh\necho python\n"),
        (b"#!/usr/bin/env bash\nexec python x\n", b"#!/usr/bin/env bash\nexec python x\n"),
        (b"\x7fELF#!/cache/bin/python\n", b"\x7fELF#!/cache/bin/python\n"),
    ],
    ids=["short", "versioned", "long", "shell", "bash", "binary"],
)
def test_commands_run_with_the_images_python(command: bytes, expected: bytes) -> None:
    assert with_image_python(command) == expected
