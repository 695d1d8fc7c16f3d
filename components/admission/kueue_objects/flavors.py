"""ResourceFlavors (resourceflavor_webhook.go), and the weight of LocalQueues, which Kueue does not check."""

from components.admission.kueue_objects.values import are_labels, fair_sharing, is_label_key, kueue_policy
from components.admission.ray import Policy


def resource_flavors() -> Policy:
    """Returns the policy that refuses invalid ResourceFlavors."""
    labels = "object.?spec.?nodeLabels.orValue({})"
    taints = "object.?spec.?nodeTaints.orValue([])"
    value = '!format.labelValue().validate(t.?value.orValue("")).hasValue()'
    rules = {
        are_labels(labels): "spec.nodeLabels must be valid labels: a key or a value is invalid",
        f"{taints}.all(t, {is_label_key('t.key')} && {value})": (
            "spec.nodeTaints must be valid taints: a key or a value is invalid"
        ),
        f"{taints}.all(t, {taints}.exists_one(u, u.key == t.key && u.effect == t.effect))": (
            "two of spec.nodeTaints have the same key and effect"
        ),
        tolerations_have_keys("object.?spec.?tolerations.orValue([])"): (
            "the keys of spec.tolerations must be valid keys of taints"
        ),
    }
    return kueue_policy("resourceflavors", rules)


def tolerations_have_keys(tolerations: str) -> str:
    """Returns CEL for: each key of the tolerations is empty or a valid label key."""
    return f'{tolerations}.all(t, t.?key.orValue("") == "" || {is_label_key("t.key")})'


def local_queues() -> Policy:
    """Returns the policy for LocalQueues."""
    return kueue_policy("localqueues", fair_sharing())
