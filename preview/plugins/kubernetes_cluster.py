"""Which cluster a Kubernetes provider talks to, from its inputs or the ambient KUBECONFIG."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.exceptions import ConfigError

from preview.plugins.kubernetes_api import ApiServer
from preview.plugins.pretence import NO_HOST
from preview.plugins.serving import RefusedError

# Inputs of pulumi_kubernetes.Provider that choose the cluster, and whether its objects are taken over …
_UNDERSTOOD = frozenset({"enablePatchForce", "kubeconfig", "context", "namespace"})
# … and those that change nothing here.
_HARMLESS = frozenset(
    {
        "clusterIdentifier",
        "enableServerSideApply",
        "kubeClientSettings",
        "suppressDeprecationWarnings",
        "suppressHelmHookWarnings",
        "version",
    }
)


class NoClusterError(Exception):
    """Nothing says which cluster; a preview goes on without one."""


def connect(inputs: Mapping[str, Any], environment: Mapping[str, str]) -> ApiServer:
    """The API server that a provider's inputs name, or else the ambient KUBECONFIG.

    `~/.kube/config` is left out on purpose: an offline preview must not reach somebody's cluster by accident.
    Raises NoClusterError when there is no kubeconfig, RefusedError when it cannot be used or when an input is
    set that only the official plugin honours.
    """
    foreign = sorted(set(inputs) - _UNDERSTOOD - _HARMLESS)
    if foreign:
        raise RefusedError(
            f"kubernetes.Provider: the offline stand-in does not know {', '.join(foreign)}; "
            f"it knows {', '.join(sorted(_UNDERSTOOD))}. Leave it out or use the official plugin."
        )
    source = inputs.get("kubeconfig") or environment.get("KUBECONFIG")
    if not source:
        raise NoClusterError("the provider has no kubeconfig and KUBECONFIG is not set")
    try:
        config = _parse(source).get(inputs.get("context"))
    except (ConfigError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        where = "(given as text)" if _is_content(source) else source
        raise RefusedError(f"kubeconfig {where}: {type(error).__name__} {_safe(error)}") from None
    assert config is not None, "get() without a default raises instead"
    if (urlsplit(config.cluster.server).hostname or "").endswith(NO_HOST):
        raise NoClusterError(f"{config.cluster.server} is only pretended")
    take_over = inputs.get("enablePatchForce") == "true"
    return ApiServer(config, inputs.get("namespace") or config.namespace, take_over=take_over)


def _parse(source: str) -> KubeConfig:
    if _is_content(source):
        return KubeConfig.from_dict(yaml.safe_load(source))
    if not Path(source).expanduser().is_file():
        raise NoClusterError(f"kubeconfig {source} does not exist")
    return KubeConfig.from_file(source)


def _is_content(source: str) -> bool:
    """A kubeconfig itself (YAML or JSON), where otherwise its path is given."""
    return "\n" in source or source.lstrip().startswith("{")


def _safe(error: Exception) -> str:
    """A YAML error quotes the text around it, which may be a key or a token."""
    return "" if isinstance(error, yaml.YAMLError) else str(error)
