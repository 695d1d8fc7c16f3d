"""Rules of Muster's controller."""

from collections.abc import Iterator

from settings.model.foundation.cluster import Gke
from settings.model.signature import matches
from settings.model.stack import Settings
from settings.problems import Doubt, Finding
from settings.rules.registry import doubt, rule


@rule("admission", "controller")
def engine_muster_has_its_controller(settings: Settings) -> Iterator[Finding]:
    """Engine muster requires `muster:controller`, which admits the gangs."""
    if settings.admission.engine == "muster" and settings.controller is None:
        yield Finding(
            ("muster:controller",),
            "the controller, which engine muster requires",
            "add `muster:controller: {build: {}}` (or {image: …}), or choose engine: kueue",
        )


@rule("admission")
def elastic_gangs_need_engine_muster(settings: Settings) -> Iterator[Finding]:
    """Settings of elastic gangs need engine muster: other engines preempt workers without a notice
    (docs/elastic.md)."""
    admission = settings.admission
    if admission.engine != "muster" and "elastic" in admission.model_fields_set:
        yield Finding(
            ("muster:admission", "elastic"),
            f"no value: engine {admission.engine} preempts workers without a notice",
            "remove it, or choose engine: muster",
        )


@rule("cluster", "controller")
def images_are_built_for_google_cloud(settings: Settings) -> Iterator[Finding]:
    """An image is built for a GKE cluster only: the stack creates its registry in the cluster's project and
    region."""
    controller = settings.controller
    if controller is not None and controller.build is not None and settings.place is None:
        yield Finding(
            ("muster:controller", "build"),
            "a GKE cluster: the stack creates the image's registry in its project and region",
            "build and push the image yourself, and write `image: repository@sha256:…`",
        )


@rule("cluster", "controller")
def required_signatures_are_checked(settings: Settings) -> Iterator[Finding]:
    """Binary Authorization refuses images only in clusters that have it enabled (GKE)."""
    build = settings.controller.build if settings.controller is not None else None
    required = build.signature.required if build is not None and build.signature is not None else None
    cluster = settings.cluster
    if required is not None and isinstance(cluster, Gke) and not cluster.binary_authorization:
        yield Finding(
            ("muster:controller", "build", "signature", "required"),
            "no value: the cluster does not ask Binary Authorization",
            "write `binaryAuthorization: true` in muster:cluster, or remove `required`",
        )


@rule("project", "cluster", "controller")
def patterns_leave_the_controller_out(settings: Settings) -> Iterator[Finding]:
    """A pattern that covers the controller's own image would exempt it from its signature (Binary
    Authorization, "Exempt images")."""
    build, place = settings.controller.build if settings.controller else None, settings.place
    required = build.signature.required if build and build.signature else None
    if build is None or required is None or place is None or settings.project is None:
        return
    image = build.image(settings.project, place.region, settings.cluster.name)
    for i, pattern in enumerate(required.other_images):
        if matches(pattern, image):
            yield Finding(
                ("muster:controller", "build", "signature", "required", "otherImages", i),
                f"a pattern that does not match the controller's image, {image}, which it would exempt",
                "write a longer path",
            )


@rule("cluster", "controller")
def journal_has_a_place(settings: Settings) -> Iterator[Finding]:
    """The journal is in a bucket on GKE, where the bucket's driver is enabled, and in no bucket elsewhere
    (GKE, Cloud Storage FUSE CSI driver)."""
    journal = settings.controller.journal if settings.controller is not None else None
    if journal is None:
        return
    cluster, path = settings.cluster, ("muster:controller", "journal")
    buckets = {"bucket": journal.bucket, "existingBucket": journal.existing_bucket}
    if settings.place is None:
        for key in (key for key, value in buckets.items() if value):
            yield Finding(
                (*path, key),
                "no value: it needs Google Cloud, and this cluster is not known to be there",
                "write `journal: {}`, or say in muster:cluster.gke where the cluster is",
            )
    elif not any(buckets.values()):
        yield Finding(
            path,
            "either bucket or existingBucket: a folder of the pod would be lost with it",
            "name a bucket, which the stack creates, such as `journal: {bucket: acme-journal}`",
        )
    elif isinstance(cluster, Gke) and "gcs-fuse" not in cluster.csi_drivers:
        yield Finding(
            path,
            "no value: the cluster's csiDrivers do not include gcs-fuse, which mounts buckets",
            "add gcs-fuse to muster:cluster.csiDrivers, or remove `journal`",
        )


@doubt("controller")
def page_may_be_out_of_reach(settings: Settings) -> Iterator[Doubt]:
    """A gateway reaches the page from a namespace that may connect to it, under a host name that the page
    accepts: each needs the other (docs/page.md)."""
    page = settings.controller.page if settings.controller is not None else None
    if page is None or bool(page.host_names) == bool(page.namespaces):
        return
    key, why = (
        ("hostNames", "no pod may connect to the page, as `namespaces` is empty: add the gateway's namespace")
        if page.host_names
        else (
            "namespaces",
            "the page refuses their requests, as `hostNames` is empty: add the gateway's names",
        )
    )
    yield Doubt(("muster:controller", "page", key), why, "docs/page.md")
