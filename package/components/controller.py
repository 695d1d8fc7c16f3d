"""Muster's controller, with the operators and policies that it needs in the cluster."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from components.admission.policies import AdmissionPolicies, AdmissionPoliciesArgs
from components.admission.priorities import PriorityNames
from components.controller.journal import JournalPlace, journal_folder
from components.controller.pod import PodArgs
from components.controller.reconciler import Reconciler
from components.operators.kuberay import KubeRay, KubeRayArgs
from components.operators.kueue import Kueue, KueueArgs
from package.base import EXISTING, Exposed, Later
from settings.model.base import Model
from settings.model.controller import Controller as ControllerSettings
from settings.model.operators.kuberay import KubeRay as KubeRaySettings
from settings.model.operators.kueue import Kueue as KueueSettings
from settings.model.queues.admission import Elastic
from settings.model.stack import Settings

ANY_IMAGE = "example.com/muster/controller:0"
"""Replaces an image whose reference is an Output, for the rules of settings."""


class ControllerInputs(Model):
    """The parts of a stack file that describe the controller."""

    image: Annotated[str, Later()]
    """The controller's image, pinned by digest or tag; may be an Output, such as the `ref` of an image that
    the program builds."""
    controller: ControllerSettings | None = None
    """The controller's settings, without `image` and `build`; their defaults if unset."""
    kuberay: KubeRaySettings = KubeRaySettings()
    """The operator that runs RayJobs, RayClusters and RayServices."""
    kueue: KueueSettings = KueueSettings()
    """The API by which jobs are queued."""
    priorities: dict[str, int] = Field(default_factory=dict)
    """The priorities of Queues: policies refuse jobs that name others."""
    elastic: Elastic = Elastic()
    """Gangs that Ray's autoscaler scales."""
    node_selector: dict[str, str] = Field(default_factory=dict)
    """Labels of the nodes that operators may run on."""
    serves_mutating_policies: bool = True
    """True if the cluster serves MutatingAdmissionPolicy v1 (Kubernetes 1.36 or later)."""


class ControllerOutputs(Model):
    """Namespace and image of the controller."""

    namespace: str
    """Namespace of the controller."""
    image: str
    """Image of the controller."""


class Controller(Exposed):
    """Muster's controller in the cluster of the Kubernetes provider, with KubeRay, the CRDs of Kueue's API,
    and the policies that keep Ray objects as their queue admitted them."""

    inputs = ControllerInputs
    outputs = ControllerOutputs
    absent = frozenset({"pools", "queues"})
    places = {
        "controller.image": "image",
        "admission.priorities": "priorities",
        "admission.elastic": "elastic",
        "cluster.servesMutatingPolicies": "servesMutatingPolicies",
    }

    def sections(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        controller = inputs.get("controller")
        image = inputs.get("image")
        plain = image if isinstance(image, str) else ANY_IMAGE
        serves = inputs.get("servesMutatingPolicies", True)
        sections = {key: inputs[key] for key in ("kuberay", "kueue") if key in inputs}
        elastic = {key: inputs[key] for key in ("elastic",) if key in inputs}
        return {
            **sections,
            "controller": {**(controller if isinstance(controller, Mapping) else {}), "image": plain},
            "admission": {"priorities": inputs.get("priorities", {}), **elastic},
            "cluster": {**EXISTING, "servesMutatingPolicies": serves},
        }

    def declare(self, settings: Settings, inputs: Mapping[str, Any]) -> dict[str, Any]:
        controller, selector = settings.controller, inputs.get("nodeSelector", {})
        assert controller, "the sections have one"
        kuberay = KubeRay("kuberay", KubeRayArgs(settings.kuberay, "muster", selector), self.child())
        kueue = Kueue("kueue", KueueArgs(settings.kueue, "muster", selector, protect=False), self.child())
        policies = AdmissionPoliciesArgs(
            "muster",
            settings.cluster.serves_mutating_policies,
            settings.admission.max_pods,
            priorities=PriorityNames(tuple(settings.admission.priorities), {}),
        )
        AdmissionPolicies("admission-policies", policies, self.child(depends_on=[kuberay]))
        journal = JournalPlace(journal_folder("journal")) if controller.journal else None
        pods = PodArgs(controller, settings.admission.elastic, inputs["image"], selector, journal)
        reconciler = Reconciler("reconciler", pods, self.child(depends_on=[kuberay, kueue]))
        return {"namespace": reconciler.namespace.metadata["name"], "image": inputs["image"]}
