"""A tenant's secrets of Secret Manager, which its pods mount as files (GKE's Secret Manager add-on)."""

import json
from dataclasses import dataclass

import pulumi
from pulumi_gcp import secretmanager
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.base import Component
from components.foundation.google_cloud import GoogleCloud
from settings.model.tenants.secrets import MountedSecret

# The SecretProviderClass that a volume of a tenant's pods names.
SECRETS_CLASS = "secrets"


@dataclass(frozen=True)
class MountedSecretsArgs:
    """`member` may read the secrets."""

    namespace: str
    secrets: tuple[MountedSecret, ...]
    google: GoogleCloud
    member: pulumi.Input[str]


class MountedSecrets(Component):
    """Permission to read each secret, and the SecretProviderClass that names the files.

    The add-on reads the values as the pod's identity and writes them to the pod's memory: they are neither in
    the stack's state nor in a Secret of the cluster. Declare the namespace after `access`, then the class.
    """

    def __init__(
        self, name: str, args: MountedSecretsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("MountedSecrets", name, opts)
        self._args = args
        # Two versions of a secret are two files, but its policy has one entry for the member.
        secrets = {self._path(secret): secret for secret in reversed(args.secrets)}
        self.access = [self._access(secret) for secret in reversed(secrets.values())]
        self.register_outputs({"files": [secret.file_name for secret in args.secrets]})

    def _access(self, secret: MountedSecret) -> pulumi.Resource:
        args = self._args
        name = self.named(f"{args.namespace}-{secret.name.replace('/', '-')}")
        project, role = secret.project or args.google.project, "roles/secretmanager.secretAccessor"
        opts = self.child(provider=args.google.provider)
        if secret.location is None:
            return secretmanager.SecretIamMember(
                name, project=project, secret_id=secret.secret_id, role=role, member=args.member, opts=opts
            )
        return secretmanager.RegionalSecretIamMember(
            name,
            project=project,
            location=secret.location,
            secret_id=secret.secret_id,
            role=role,
            member=args.member,
            opts=opts,
        )

    def _path(self, secret: MountedSecret) -> str:
        """Returns the secret's name in Secret Manager's API."""
        place = f"locations/{secret.location}/" if secret.location else ""
        project = secret.project or self._args.google.project
        return f"projects/{project}/{place}secrets/{secret.secret_id}"

    def add_class(self, namespace: pulumi.Resource) -> None:
        """Declares the SecretProviderClass in the tenant's namespace, where the team may not write it."""
        files = [
            {
                "resourceName": f"{self._path(secret)}/versions/{secret.version or 'latest'}",
                "path": secret.file_name,
            }
            for secret in self._args.secrets
        ]
        CustomResource(
            self.named(f"{self._args.namespace}/{SECRETS_CLASS}"),
            api_version="secrets-store.csi.x-k8s.io/v1",
            kind="SecretProviderClass",
            metadata=ObjectMetaArgs(name=SECRETS_CLASS, namespace=self._args.namespace),
            # The provider parses a YAML text, of which JSON is a subset.
            spec={"provider": "gke", "parameters": {"secrets": json.dumps(files)}},
            opts=self.child(depends_on=[*self.access, namespace], deleted_with=namespace),
        )
