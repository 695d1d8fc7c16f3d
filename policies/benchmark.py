"""The controls of the CIS GKE Benchmark: which rules cover each, or why none does.

Ids as in version 1.9.0, from kube-bench (cfg/gke-1.9.0, read on 2026-11-26); titles are in our words.
Versions 1.6 to 1.8 number them alike, except Binary Authorization (5.10.4) and the security posture (5.10.5).
"""

import re
from collections.abc import Iterator

from policies.rules import RULES

BEGIN, END = "<!-- controls: written by make docs -->", "<!-- end of controls -->"
CITED = re.compile(r"CIS GKE 1\.9, ([0-9.]+(?: to [0-9.]+)?(?: and [0-9.]+)*)")

NODE_FILES = "Container-Optimized OS sets it: files of nodes are Google's, and no plan contains them"
CONTROLS: dict[str, tuple[str, str]] = {
    "3.1.1": ("permissions of the nodes' kubeconfig", NODE_FILES),
    "3.1.2": ("owner of the nodes' kubeconfig", NODE_FILES),
    "3.1.3": ("permissions of the kubelet's configuration", NODE_FILES),
    "3.1.4": ("owner of the kubelet's configuration", NODE_FILES),
    "4.1.1": ("cluster-admin only where required", ""),
    "4.1.2": (
        "few may read Secrets",
        "roles of teams are fixed by `components/tenants/team_access.py`: a Secret of Ray's token at most",
    ),
    "4.1.3": ("no wildcards in roles", ""),
    "4.1.4": (
        "default ServiceAccounts are not used",
        "pods of users are not in a plan; Muster's own have their own ServiceAccounts",
    ),
    "4.1.5": (
        "tokens of ServiceAccounts only where necessary",
        "pods of users are not in a plan; Workload "
        "Identity gives a default ServiceAccount no permissions in Google Cloud, and RBAC none",
    ),
    "4.1.6": ("no system:masters", ""),
    "4.1.7": ("few may bind, impersonate or escalate", ""),
    "4.1.8": ("no bindings to system:anonymous", ""),
    "4.1.9": ("no bindings to system:unauthenticated", ""),
    "4.1.10": ("no bindings to system:authenticated", ""),
    "4.2.1": ("Pod Security Standard baseline", ""),
    "4.3.1": ("the network enforces NetworkPolicies", ""),
    "4.3.2": ("every namespace has NetworkPolicies", ""),
    "4.4.1": ("Secrets as files, not in the environment", "pods of users are not in a plan"),
    "4.4.2": ("secrets outside of the cluster", "a choice of each team: [security.md](security.md#secrets)"),
    "4.5.1": ("provenance of images", ""),
    "4.6.1": (
        "namespaces as boundaries",
        "the settings require a namespace for each tenant, which is not shared",
    ),
    "4.6.2": ("seccomp RuntimeDefault", ""),
    "4.6.3": ("security contexts", "Pod Security admission checks them in the cluster (4.2.1)"),
    "4.6.4": ("nothing in namespace default", ""),
    "5.1.1": ("images are scanned", "a setting of the project (Artifact Analysis), not of a stack"),
    "5.1.2": (
        "few may use the registry",
        "the stack grants no user access to its registry; others are the project's",
    ),
    "5.1.3": (
        "the cluster only reads the registry",
        "the nodes' account has artifactregistry.reader only; other "
        "accounts need the exception of `muster-node-account-is-of-the-stack`",
    ),
    "5.1.4": ("images of allowed registries", ""),
    "5.2.1": ("nodes have a dedicated account", ""),
    "5.2.2": ("Workload Identity", ""),
    "5.3.1": ("Secrets are encrypted with Cloud KMS", ""),
    "5.4.1": ("GKE's metadata server", ""),
    "5.5.1": ("Container-Optimized OS", ""),
    "5.5.2": ("nodes are repaired", ""),
    "5.5.3": ("nodes are upgraded", ""),
    "5.5.4": ("a release channel", ""),
    "5.5.5": ("shielded nodes", ""),
    "5.5.6": ("integrity monitoring", ""),
    "5.5.7": ("secure boot", ""),
    "5.6.1": ("flow logs", ""),
    "5.6.2": ("VPC-native", ""),
    "5.6.3": ("authorized networks", ""),
    "5.6.4": ("a private endpoint", ""),
    "5.6.5": ("private nodes", ""),
    "5.6.6": (
        "firewalls for nodes",
        "nodes have no public addresses (5.6.5), and a network that the stack "
        "creates has no rule that admits traffic from outside; other networks are not the stack's",
    ),
    "5.6.7": (
        "Google's certificates",
        "Gateways of tenants use Certificate Manager; the settings know no other",
    ),
    "5.7.1": ("logs and metrics", ""),
    "5.7.2": ("auditd of Linux", "needs a privileged DaemonSet, which 4.2.1 refuses; install it yourself"),
    "5.8.1": ("no client certificates", ""),
    "5.8.2": ("Google groups in RBAC", ""),
    "5.8.3": ("no legacy authorization", ""),
    "5.9.1": ("own keys for persistent disks", "a StorageClass of your own; Muster declares no disks"),
    "5.9.2": ("own keys for boot disks", ""),
    "5.10.1": ("no Kubernetes dashboard", "GKE no longer offers it as an add-on since 1.15"),
    "5.10.2": ("no alpha clusters", ""),
    "5.10.3": (
        "GKE Sandbox for untrusted code",
        "gVisor runs few of the GPU machines' drivers, and teams trust "
        "their own code; separate untrusted teams by clusters",
    ),
    "5.10.4": ("security posture", ""),
}


def covering() -> dict[str, list[str]]:
    """Returns the ids of the rules that cover each control, by the sources of the rules."""
    rules: dict[str, list[str]] = {id: [] for id in CONTROLS}
    for rule in RULES:
        for control in cited(rule.source):
            rules[control].append(rule.id)
    return rules


def cited(source: str) -> Iterator[str]:
    """Yields the controls that a source names, such as "CIS GKE 1.9, 4.1.8 to 4.1.10"."""
    for text in CITED.findall(source):
        first, _, last = text.partition(" to ")
        if last:
            section, _, number = first.rpartition(".")
            yield from (f"{section}.{n}" for n in range(int(number), int(last.rpartition(".")[2]) + 1))
        else:
            yield from first.split(" and ")


def table() -> str:
    """Returns a row for each control, in Markdown."""
    rules = covering()
    rows = [
        f"| {id} | {title} | {', '.join(f'`{rule}`' for rule in rules[id]) or f'not covered: {reason}'} |"
        for id, (title, reason) in CONTROLS.items()
    ]
    return "\n".join(["| control | in short | covered by |", "|---|---|---|", *rows])
