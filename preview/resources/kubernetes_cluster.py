"""Connects a Kubernetes provider to its cluster, from its inputs or KUBECONFIG."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.exceptions import ConfigError

from preview.resources.pretence import NO_HOST
from preview.resources.refusals import RefusedError
from tools.kubernetes import ApiServer

# Supported inputs of pulumi_kubernetes.Provider.
_SUPPORTED = frozenset({"enablePatchForce", "kubeconfig", "context", "namespace"})
# Inputs that have no effect here.
_IGNORED = frozenset(
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
    """No cluster is configured; a preview continues without one."""


def connect(inputs: Mapping[str, Any], environment: Mapping[str, str]) -> ApiServer:
    """Connects to the API server of the provider's inputs, or else of KUBECONFIG.

    `~/.kube/config` is ignored on purpose: an offline preview must not reach a user's cluster by accident.
    Raises NoClusterError if there is no kubeconfig, RefusedError if it cannot be used or an input is set that
    only the official plugin supports.
    """
    unsupported = sorted(set(inputs) - _SUPPORTED - _IGNORED)
    if unsupported:
        raise RefusedError(
            f"kubernetes.Provider: the offline stand-in does not support {', '.join(unsupported)}, "
            f"only {', '.join(sorted(_SUPPORTED))}. Remove it or use the official plugin."
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
        raise NoClusterError(f"{config.cluster.server} is a placeholder of a preview")
    take_over = inputs.get("enablePatchForce") == "true"
    return ApiServer(config, inputs.get("namespace") or config.namespace, take_over=take_over)


def _parse(source: str) -> KubeConfig:
    if _is_content(source):
        return KubeConfig.from_dict(yaml.safe_load(source))
    if not Path(source).expanduser().is_file():
        raise NoClusterError(f"kubeconfig {source} does not exist")
    return KubeConfig.from_file(source)


def _is_content(source: str) -> bool:
    """Returns whether `source` is a kubeconfig itself (YAML or JSON) and not its path."""
    return "\n" in source or source.lstrip().startswith("{")


def _safe(error: Exception) -> str:
    """Drops the message of a YAML error, which quotes the text around it: it may be a key or a token."""
    return "" if isinstance(error, yaml.YAMLError) else str(error)
