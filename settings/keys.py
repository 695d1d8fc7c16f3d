"""Keys at the top of a stack file that belong to no package, or are misspelt: Pulumi would ignore them."""

import difflib
from collections.abc import Iterable, Iterator, Mapping

from settings.model.foundation.place import GkePlace
from settings.model.split import SPLIT
from settings.model.stack import NAMESPACE, PROJECT, Settings
from settings.problems import Finding, did_you_mean

OWN = [SPLIT, *(field.alias or name for name, field in Settings.model_fields.items())]
PACKAGES = ("docker", "docker-build", "gcp", "kubernetes", "muster", "pulumi")  # of this program
PROVIDER_KEYS = ("gcp:project", "gcp:region", "gcp:zone")
# Packages of whose providers the program declares its own, which read no configuration of a stack.
WITH_OWN_PROVIDERS = ("gcp", "kubernetes")
SIMILAR, ALIKE = 0.65, 0.8


def ours(key: object) -> bool:
    """Returns whether the key is one of this program's settings."""
    return key == PROJECT or str(key).startswith(NAMESPACE)


def misspelt_keys(keys: Iterable[object]) -> Iterator[Finding]:
    """Yields a finding for each key of another package that is probably a misspelt key of Muster.

    Pulumi accepts keys of any package and gives them to that package's provider, if there is one: without
    this, `mustr:tenants` would drop all tenants.
    """
    for key in (str(key) for key in keys if not ours(key)):
        package, colon, name = key.partition(":")
        if not colon:
            yield _finding(key, f"{NAMESPACE}{key}")
        elif package not in PACKAGES and (_package(package) or _is_own(name)):
            yield _finding(key, f"{_package(package) or 'muster'}:{name}")
        elif key not in PROVIDER_KEYS and (alike := _alike(key, (*OWN, *PROVIDER_KEYS), ALIKE)):
            yield _finding(key, alike)


def other_places(config: Mapping[str, object], place: GkePlace | None) -> Iterator[Finding]:
    """Yields a finding for gcp:region or gcp:zone of another region than the cluster's: the stack's resources
    are in the cluster's region, so such a key is a mistake, or has no effect."""
    for key in ("gcp:region", "gcp:zone"):
        value = config.get(key)
        if (
            place
            and isinstance(value, str)
            and value != place.region
            and not value.startswith(f"{place.region}-")
        ):
            yield Finding(
                (key,),
                f"a place in {place.region}, the region of muster:cluster, where all of the stack's "
                "resources are",
                "remove it",
            )


def unread_keys(keys: Iterable[object]) -> Iterator[Finding]:
    """Yields a finding for each key of a provider that the program declares itself: only Pulumi's default
    providers read such keys, so an account or a cluster that they name would not be used (Pulumi,
    "Explicit provider configuration"; pulumi/pulumi#12176)."""
    for key in (str(key) for key in keys):
        package = key.partition(":")[0]
        if package in WITH_OWN_PROVIDERS and key not in PROVIDER_KEYS:
            yield Finding(
                (key,),
                f"no value: the program declares its own provider of {package}, which does not read it",
                "remove it; `muster:cluster.context` chooses an existing cluster"
                if package == "kubernetes"
                else "remove it; `gcloud auth application-default login` chooses the account, also with "
                "--impersonate-service-account",
            )


def _finding(key: str, meant: str) -> Finding:
    options = [*OWN, *PROVIDER_KEYS]
    remedy = f"did you mean {meant}?" if meant in options else did_you_mean(meant, options)
    return Finding((key,), "a key of the package muster, or of another one, such as gcp:region", remedy)


def _package(name: str) -> str | None:
    """Returns the package whose name is almost this one."""
    return _alike(name.lower(), PACKAGES, SIMILAR)


def _is_own(name: str) -> bool:
    return f"{NAMESPACE}{name}" in OWN


def _alike(word: str, options: Iterable[str], cutoff: float) -> str | None:
    return next(iter(difflib.get_close_matches(word, list(options), n=1, cutoff=cutoff)), None)
