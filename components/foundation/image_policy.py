"""The project's Binary Authorization policy: which images run in the stack's cluster.

Source: Binary Authorization, "Configure a policy", November 2026. The provider has rules for clusters, not
for namespaces, so the rule covers all images of the cluster except for the patterns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import binaryauthorization

from components.base import Component
from components.foundation.google_cloud import GoogleCloud
from settings.model.foundation.place import GkePlace
from settings.model.operators.shared import Image
from settings.model.stack import Settings

KUBERAY = "quay.io/kuberay/operator"
GPU_OPERATOR = ("nvcr.io/nvidia/**", "registry.k8s.io/nfd/**")
GPUDIRECT = ("gke.gcr.io/**", "us-docker.pkg.dev/gce-ai-infra/**")


@dataclass(frozen=True)
class ImagePolicyArgs:
    """`patterns` match images that need no attestation."""

    cluster: GkePlace
    attestor: pulumi.Input[str]
    patterns: Sequence[str]
    google: GoogleCloud


class ImagePolicy(Component):
    """The policy: attested images in the stack's cluster; other clusters of the project have no rule.

    It is the only one of its project, so destroying it restores Google's default, which allows every image.
    """

    def __init__(self, name: str, args: ImagePolicyArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("ImagePolicy", name, opts)
        enforced = "ENFORCED_BLOCK_AND_AUDIT_LOG"
        binaryauthorization.Policy(
            self.named("image-policy"),
            project=args.google.project,
            description=f"Images in {args.cluster.name} are attested to, or match a pattern.",
            global_policy_evaluation_mode="ENABLE",  # Google's own images run
            admission_whitelist_patterns=[
                binaryauthorization.PolicyAdmissionWhitelistPatternArgs(name_pattern=pattern)
                for pattern in args.patterns
            ],
            cluster_admission_rules=[
                binaryauthorization.PolicyClusterAdmissionRuleArgs(
                    cluster=f"{args.cluster.location}.{args.cluster.name}",
                    evaluation_mode="REQUIRE_ATTESTATION",
                    enforcement_mode=enforced,
                    require_attestations_bies=[args.attestor],
                )
            ],
            default_admission_rule=binaryauthorization.PolicyDefaultAdmissionRuleArgs(
                evaluation_mode="ALWAYS_ALLOW", enforcement_mode=enforced
            ),
            opts=self.child(provider=args.google.provider, depends_on=args.google.apis),
        )
        self.register_outputs({"patterns": list(args.patterns)})


def operator_patterns(settings: Settings) -> Iterator[str]:
    """Yields patterns of the images that the stack itself installs in addition to the controller."""
    if settings.kuberay.install == "helm":
        yield f"{Image.parse(settings.kuberay.image).repository if settings.kuberay.image else KUBERAY}*"
    if settings.jobset.install == "helm":
        yield f"{Image.parse(settings.jobset.chart_image).repository}*"
    if settings.lws.install == "helm":
        yield f"{Image.parse(settings.lws.chart_image).repository}*"
    if settings.gpu_operator.install == "helm":
        yield from GPU_OPERATOR
    if settings.gpudirect.install != "none" and any(pool.nccl_plugin for pool in settings.pools):
        yield from GPUDIRECT
