"""Serves the pack with enforcement levels that depend on the stack's configuration.

pulumi_policy fixes its `initial_config` when the pack starts. The engine sends the stack's configuration
later, by ConfigureStack, and then requests the initial configuration (Pulumi's pkg/engine/update.go). A file
given by `--policy-pack-config` overrides it.

This is the only module that uses private names of pulumi_policy (tests/unit/packaging/test_internals.py).
"""

# ruff: noqa: N802 -- methods carry the names of the gRPC service
import copy
from collections.abc import Iterable, Mapping
from typing import Any

import grpc  # type: ignore[import-untyped]  # ships no types
import pulumi_policy.policy
from pulumi.runtime import proto
from pulumi_policy import EnforcementLevel, Policy, PolicyPack, ResourceValidationPolicy
from pulumi_policy.policy import _PolicyAnalyzerServicer

from policies.environment import enforced
from policies.rule import Resource, ResourceRule, StackRule

POLICIES = "_PolicyAnalyzerServicer__policies"
"""The attribute with the pack's policies."""


class EnvironmentAnalyzer(_PolicyAnalyzerServicer):
    """pulumi_policy's server of a pack, with the initial configuration of the stack's environment.

    rules: by id. pulumi_policy converts a resource once for each policy that it asks, while the engine waits:
    only those are asked that read the resource's kind.
    """

    _enforced: dict[str, dict[str, Any]] = {}
    rules: Mapping[str, ResourceRule | StackRule] = {}

    def Analyze(self, request: Any, context: Any) -> Any:
        """Checks a resource by the policies of its kind, or by another one: the pack remembers resources."""
        policies = self._of_kind(request.type) or self._enabled()[:1]
        return _PolicyAnalyzerServicer.Analyze(self._with(policies), request, context)  # type: ignore[no-untyped-call]

    def Remediate(self, request: Any, context: Any) -> Any:
        """Changes a resource by the policies that change its kind."""
        remediate = EnforcementLevel.REMEDIATE
        policies = [p for p in self._of_kind(request.type) if self._get_enforcement_level(p) == remediate]
        if not policies:
            return proto.RemediateResponse()
        return _PolicyAnalyzerServicer.Remediate(self._with(policies), request, context)  # type: ignore[no-untyped-call]

    def _of_kind(self, type: str) -> list[Policy]:
        kind = Resource(type, "", {}).kind
        return [policy for policy in self._enabled() if _reads(self.rules[policy.name], kind)]

    def _enabled(self) -> list[Policy]:
        of_resources = (p for p in vars(self)[POLICIES] if isinstance(p, ResourceValidationPolicy))
        return [p for p in of_resources if self._get_enforcement_level(p) != EnforcementLevel.DISABLED]

    def _with(self, policies: list[Policy]) -> "EnvironmentAnalyzer":
        """Returns this server with these policies only."""
        server = copy.copy(self)
        vars(server)[POLICIES] = policies
        return server

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
        for id, configured in self._enforced.items():
            properties = dict(configured)
            config = info.initialConfig[id]
            config.enforcementLevel = proto.EnforcementLevel.Value(properties.pop("enforcementLevel").upper())
            config.properties.update(properties)
        return info


def _reads(rule: ResourceRule | StackRule, kind: str) -> bool:
    return isinstance(rule, ResourceRule) and rule.reads(kind)


def serve(name: str, policies: list[Policy], rules: Iterable[ResourceRule | StackRule]) -> None:
    """Serves the policies of these rules until the engine ends this process; mandatory by default."""
    EnvironmentAnalyzer.rules = {rule.id: rule for rule in rules}
    # PolicyPack has no parameter for its server.
    setattr(pulumi_policy.policy, _PolicyAnalyzerServicer.__name__, EnvironmentAnalyzer)
    PolicyPack(name, policies, EnforcementLevel.MANDATORY)
