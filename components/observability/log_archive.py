"""Logs and events that outlive their cluster: searchable for a while, archived for longer."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import logging, storage

from components.base import Component
from components.foundation.google_cloud import GoogleCloud, deleted_after, name_at_creation
from muster.cluster.jobs.kinds import JOB_KINDS
from settings.model.observability import Logs

DAY_SECONDS = 24 * 3600
# The kinds whose events are a job's history; other kinds emit many more events.
EVENTS_OF = (
    *sorted(map(str, JOB_KINDS)),
    "Workload",
    "ClusterQueue",
    "LocalQueue",
    "ProvisioningRequest",
)


@dataclass(frozen=True)
class LogArchiveArgs:
    """`namespaces`: the containers' logs to keep; `protect`: refuse to delete the buckets."""

    cluster: str
    location: str
    namespaces: Sequence[str]
    logs: Logs
    google: GoogleCloud
    protect: bool


class LogArchive(Component):
    """The cluster's own log bucket, and a Cloud Storage bucket with a retention policy, whose name is
    `bucket`."""

    def __init__(self, name: str, args: LogArchiveArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("LogArchive", name, opts)
        self._provider = args.google.provider
        self.bucket: pulumi.Output[str] | None = None
        self._sink("searchable", self._log_bucket(args), args)
        if args.logs.archive_days is not None:
            bucket = self._storage_bucket(args, args.logs.archive_days)
            self.bucket = bucket.name
            target = bucket.name.apply(lambda name: f"storage.googleapis.com/{name}")
            sink = self._sink("archive", target, args)
            storage.BucketIAMMember(
                self.named("log-archive"),
                bucket=bucket.name,
                role="roles/storage.objectCreator",  # adds objects, cannot read or change existing ones
                member=sink.writer_identity,
                opts=self.child(provider=self._provider),
            )
        self.register_outputs({})

    def _log_bucket(self, args: LogArchiveArgs) -> pulumi.Output[str]:
        bucket = logging.ProjectBucketConfig(
            self.named("ray-logs"),
            project=args.google.project,
            location=args.google.region,
            bucket_id=args.google.cluster.unique("ray"),
            description=f"Ray, its operators and its queues on {args.cluster}.",
            retention_days=args.logs.searchable_days,
            opts=self.child(
                provider=self._provider, protect=args.protect, ignore_changes=name_at_creation("bucketId")
            ),
        )
        return bucket.id.apply(lambda path: f"logging.googleapis.com/{path}")

    def _storage_bucket(self, args: LogArchiveArgs, days: int) -> storage.Bucket:
        return storage.Bucket(
            self.named("ray-logs"),
            name=args.google.cluster.unique(args.google.project, "logs"),
            project=args.google.project,
            location=args.google.region.upper(),
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            retention_policy=storage.BucketRetentionPolicyArgs(retention_period=str(days * DAY_SECONDS)),
            lifecycle_rules=deleted_after(days),
            labels=args.google.labels,
            force_destroy=False,
            opts=self.child(provider=self._provider, protect=args.protect, ignore_changes=name_at_creation()),
        )

    def _sink(self, what: str, target: pulumi.Input[str], args: LogArchiveArgs) -> logging.ProjectSink:
        return logging.ProjectSink(
            self.named(f"ray-{what}"),
            name=args.google.cluster.unique(f"ray-{what}"),
            project=args.google.project,
            destination=target,
            filter=log_filter(args.cluster, args.location, args.namespaces),
            unique_writer_identity=True,
            opts=self.child(provider=self._provider, ignore_changes=name_at_creation()),
        )


def log_filter(cluster: str, location: str, namespaces: Sequence[str]) -> str:
    """Returns a Cloud Logging filter: containers by namespace, events by the kind of their object."""
    where = f'resource.labels.cluster_name="{cluster}" AND resource.labels.location="{location}"'
    containers = f'resource.type="k8s_container" AND resource.labels.namespace_name=({_any_of(namespaces)})'
    events = f'log_id("events") AND jsonPayload.involvedObject.kind=({_any_of(EVENTS_OF)})'
    return f"{where} AND (({containers}) OR ({events}))"


def _any_of(values: Sequence[str]) -> str:
    return " OR ".join(f'"{value}"' for value in values)
