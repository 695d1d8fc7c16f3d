"""Partial imports of Pulumi's SDK, each in its own interpreter."""

import subprocess
import sys

import pytest

HEAD = """
import sys
from preview.plugins import sdk_modules
sdk_modules.install()
def imported(package):
    return sorted(name for name in sys.modules if name.startswith(f"pulumi_gcp.{package}."))
"""


def run(program: str) -> str:
    """Returns what a program prints that imports the SDK's modules as they are asked for."""
    command = [sys.executable, "-c", HEAD + program]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_a_class_imports_its_module_and_the_types_of_arguments_only() -> None:
    printed = run("import pulumi_gcp as gcp; gcp.iap.WebIamMember; print(imported('iap'))")
    assert printed == "['pulumi_gcp.iap._inputs', 'pulumi_gcp.iap.outputs', 'pulumi_gcp.iap.web_iam_member']"


# What a program may write, and the name that it gets.
NAMES = {
    "a class with an abbreviation": (
        "from pulumi_gcp.kms import CryptoKeyIAMMember as it",
        "CryptoKeyIAMMember",
    ),
    "an argument's type": (
        "from pulumi_gcp.iap import WebIamMemberConditionArgs as it",
        "WebIamMemberConditionArgs",
    ),
    "a resource's arguments: no name of the package": (
        "import pulumi_gcp.iap.web_iam_member as module; it = module.WebIamMemberArgs",
        "WebIamMemberArgs",
    ),
    "a function": ("from pulumi_gcp.iap import get_web_iam_policy_output as it", "get_web_iam_policy_output"),
    "a module": ("from pulumi_gcp.iap import web_iam_member as it", "pulumi_gcp.iap.web_iam_member"),
    "the types of results": ("from pulumi_gcp.iap import outputs as it", "pulumi_gcp.iap.outputs"),
}


@pytest.mark.thorough
@pytest.mark.parametrize(("program", "name"), NAMES.values(), ids=NAMES.keys())
def test_every_name_of_a_package_is_there(program: str, name: str) -> None:
    assert run(f"{program}\nprint(it.__name__)") == name


def test_a_name_that_no_module_has_is_an_error() -> None:
    program = "import pulumi_gcp.iap as iap\ntry: iap.WebIamMembre\nexcept AttributeError as e: print(e)"
    assert run(program) == "module 'pulumi_gcp.iap' has no attribute 'WebIamMembre'"
