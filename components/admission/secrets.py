"""Policies for secrets that pods mount: a volume that cannot be mounted keeps a whole gang from starting."""

from components.admission.ray import Engine, Policy, requests_of, spec_is_written_by_users, users_of
from components.admission.templates import template_variables
from components.foundation.google_cloud import FUSE_DRIVER, SECRETS_DRIVER
from components.tenants.mounted_secrets import SECRETS_CLASS
from muster.cluster.jobs.kinds import JOB_KINDS
from muster.objects.names import SECRETS_LABEL
from settings.model.tenants.tenant import TENANT

ACCOUNT = f'namespaceObject.metadata.?labels[?"{SECRETS_LABEL}"].orValue("")'
VOLUMES = "t.?spec.?volumes.orValue([])"
IS_OF_SECRETS = f'v.?csi.?driver.orValue("") == "{SECRETS_DRIVER}"'
READ_ONLY = "v.csi.?readOnly.orValue(false)"
CLASS = 'v.csi.?volumeAttributes[?"secretProviderClass"].orValue("")'


def mounted_secrets(engine: Engine) -> list[Policy]:
    """Returns policies for inline CSI volumes in tenants: buckets by the pod's own identity, and read-only
    secrets of the namespace's SecretProviderClass, by the ServiceAccount that may read them."""
    return [
        Policy(
            name=f"muster-{kind.plural}-mount-own-secrets",
            **requests_of(kind),
            operations=("CREATE", "UPDATE"),
            rules={
                f"variables.templates.all(t, {VOLUMES}.all(v, !has(v.csi) || "
                f'v.csi.driver in ["{SECRETS_DRIVER}", "{FUSE_DRIVER}"]))': (
                    f"inline CSI volumes of this namespace use only the drivers {SECRETS_DRIVER} and "
                    f"{FUSE_DRIVER}: mount other storage through a PersistentVolumeClaim"
                ),
                f"variables.templates.all(t, {VOLUMES}.all(v, !({IS_OF_SECRETS}) || "
                f'({READ_ONLY} && {CLASS} == "{SECRETS_CLASS}")))': (
                    "secrets are mounted with csi.readOnly: true and csi.volumeAttributes: "
                    f"{{secretProviderClass: {SECRETS_CLASS}}}"
                ),
                f"variables.templates.all(t, !{VOLUMES}.exists(v, {IS_OF_SECRETS}) || "
                f'({ACCOUNT} != "" && t.?spec.?serviceAccountName.orValue("") == {ACCOUNT}))': (
                    "only pods with the tenant's identity can mount its secrets: set serviceAccountName to "
                    "that of muster:tenants[].identity (ray by default) in each template that mounts them, "
                    "and declare muster:tenants[].secrets"
                ),
            },
            namespaces=TENANT,
            condition=spec_is_written_by_users(engine, kind.operator),
            exempt_operators=users_of(kind),
            variables=template_variables(kind),
        )
        for kind in JOB_KINDS
    ]
