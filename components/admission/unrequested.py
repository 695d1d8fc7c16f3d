"""CEL for ways to accelerators other than requests of them: their nodes, and devices that an agent adds.

The taint of nodes with accelerators keeps other pods away, unless they tolerate it or name their node. On
such a node a pod uses CPU and memory of gangs, and an agent may give it devices that it does not request, by
an annotation: those of the Container Device Interface (tags.cncf.io/container-device-interface:
AnnotationPrefix), and of plugins of the Node Resource Interface, such as the injector that GPUDirect needs
(GKE, "Maximize GPU network bandwidth in Standard mode clusters").
"""

import json

from muster.objects.names import CLASS_ANNOTATION, CONSUME_ANNOTATION
from settings.model.pools.gpus import GPU_RESOURCE
from settings.model.pools.pool import GPU_TAINT, TPU_TAINT

TAINTS = (GPU_TAINT.key, TPU_TAINT.key)
GPUDIRECT_PREFIX = "devices.gke.io/"
INJECTED_PREFIXES = (
    "cdi.k8s.io/",
    "nvidia.cdi.k8s.io/",
    "cdi-devices.nri.io/",
    "devices.nri.io/",
    "devices.noderesource.dev/",
    "io.kubernetes.cri-o.Devices",
)
GPUDIRECT_GPUS = 8
"""GPUs of each machine type whose GPUDirect needs the injector. A pod that requests them all gains none."""
FORMER_BOOKED = (
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
    "cluster-autoscaler.kubernetes.io/provisioning-class-name",
)
"""Names that the cluster autoscaler also reads (DeprecatedProvisioningRequestPodAnnotationKey)."""
BOOKED = (CONSUME_ANNOTATION, CLASS_ANNOTATION, *FORMER_BOOKED)


def stays_off_accelerators(template: str) -> str:
    """CEL for: pods of the template are not placed on nodes with accelerators, by their name or by a
    toleration of the taint, nor on nodes that were provisioned for a gang."""
    tolerated = (
        f'o.?effect.orValue("") in ["", "NoSchedule"] && o.?key.orValue("") in {json.dumps(["", *TAINTS])}'
    )
    return (
        f'{template}.?spec.?nodeName.orValue("") == "" && '
        f"{template}.?spec.?tolerations.orValue([]).all(o, !({tolerated})) && "
        f"{_annotations(template)}.all(k, !(k in {json.dumps(BOOKED)}))"
    )


def has_requested_devices_only(template: str) -> str:
    """CEL for: no annotation of the template gives its pods devices that they do not request."""
    injected = " || ".join(f'k.startsWith("{prefix}")' for prefix in INJECTED_PREFIXES)
    return (
        f"{_annotations(template)}.all(k, !({injected}) && "
        f'(!k.startsWith("{GPUDIRECT_PREFIX}") || {_has_whole_node(template)}))'
    )


def _annotations(template: str) -> str:
    return f"{template}.?metadata.?annotations.orValue({{}})"


def _has_whole_node(template: str) -> str:
    """CEL for: a container requests all GPUs of a node. Custom resources have numbers or strings."""
    gpus = f'c.?resources.?limits[?"{GPU_RESOURCE}"]'
    return (
        f"{template}.?spec.?containers.orValue([]).exists(c, {gpus}.hasValue() && "
        f'dyn({gpus}.value()) in [dyn({GPUDIRECT_GPUS}), dyn("{GPUDIRECT_GPUS}")])'
    )


OFF_ACCELERATORS = (
    f"remove nodeName, tolerations of {', '.join(TAINTS)} and of all taints, and annotations of "
    "ProvisioningRequests from its pods"
)
REQUESTED_ONLY = (
    "pods get the devices that they request, which have a quota: remove the annotations "
    f"{', '.join(f'{p}…' for p in INJECTED_PREFIXES)} from the pod templates, and {GPUDIRECT_PREFIX}… from "
    f"those without a container that requests {GPUDIRECT_GPUS} {GPU_RESOURCE}"
)
