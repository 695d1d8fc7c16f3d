"""Serves the pack with enforcement levels that depend on the stack's configuration.

pulumi_policy fixes its `initial_config` when the pack starts. The engine sends the stack's configuration
later, by ConfigureStack, and then requests the initial configuration (Pulumi's pkg/engine/update.go). A file
given by `--policy-pack-config` overrides it.
"""

# ruff: noqa: N802 -- methods carry the names of the gRPC service
from collections.abc import Sequence
from typing import Any

import grpc  # type: ignore[import-untyped]  # ships no types
import pulumi_policy.policy
from pulumi.runtime import proto
from pulumi_policy import EnforcementLevel, Policy, PolicyPack
from pulumi_policy.policy import _PolicyAnalyzerServicer

from policies.environment import enforced


class EnvironmentAnalyzer(_PolicyAnalyzerServicer):
    """pulumi_policy's server of a pack, with the initial configuration of the stack's environment."""

    _enforced: dict[str, dict[str, Any]] = {}
    rules: Sequence[str] = ()

    def ConfigureStack(self, request: Any, context: Any) -> Any:
        """Reads `muster:environment`; the engine fails with our message if it is invalid."""
        try:
            self._enforced = enforced(request.config, self.rules)
        except ValueError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        return super().ConfigureStack(request, context)

    def GetAnalyzerInfo(self, request: Any, context: Any) -> Any:
        """Adds the environment's configuration; without a stack (`pulumi policy publish`) there is none."""
        info = super().GetAnalyzerInfo(request, context)  # type: ignore[no-untyped-call]  # has no types
        for id, given in self._enforced.items():
            properties = dict(given)
            config = info.initialConfig[id]
            config.enforcementLevel = proto.EnforcementLevel.Value(properties.pop("enforcementLevel").upper())
            config.properties.update(properties)
        return info


def serve(name: str, policies: list[Policy]) -> None:
    """Serves until the engine ends this process. Policies are mandatory by default."""
    EnvironmentAnalyzer.rules = [policy.name for policy in policies]
    # PolicyPack has no parameter for its server.
    setattr(pulumi_policy.policy, _PolicyAnalyzerServicer.__name__, EnvironmentAnalyzer)
    PolicyPack(name, policies, EnforcementLevel.MANDATORY)
