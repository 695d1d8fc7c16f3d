"""Rules of the tags of nodes for network firewall policies (GKE API: ResourceManagerTags)."""

from collections.abc import Iterator, Mapping

from settings.model.foundation.cluster import Gke
from settings.model.foundation.node_defaults import NodeDefaults
from settings.model.stack import Settings
from settings.problems import Finding, Path
from settings.rules.registry import rule

MOST_TAGS = 5
KEY = "resourceManagerTags"


@rule("cluster", "pools")
def tags_are_ids_or_names(settings: Settings) -> Iterator[Finding]:
    """The key and the value of a tag are both IDs, or both names (GKE API: ResourceManagerTags.tags)."""
    for path, tags in _tags(settings).items():
        for key, value in tags.items():
            by_id = key.startswith("tagKeys/")
            if by_id != value.startswith("tagValues/"):
                yield Finding(
                    (*path, key),
                    "an ID, tagValues/…, as its key is one (GKE API: ResourceManagerTags)"
                    if by_id
                    else "a short name, as its key is a name (GKE API: ResourceManagerTags)",
                    "write both as IDs, or both as names",
                )


@rule("cluster", "pools")
def nodes_have_few_tags(settings: Settings) -> Iterator[Finding]:
    """A node has at most 5 tags, the cluster's included (GKE API: ResourceManagerTags)."""
    defaults = _defaults(settings)
    own = len(defaults.resource_manager_tags)
    if own > MOST_TAGS:
        yield Finding(
            ("muster:cluster", KEY), f"at most {MOST_TAGS} tags (GKE API: ResourceManagerTags)", "remove some"
        )
        return
    for i, pool in enumerate(settings.pools):
        if len(defaults.tags_of(pool)) > MOST_TAGS:
            yield Finding(
                ("muster:pools", i, KEY),
                f"at most {MOST_TAGS} tags, of which the cluster has {own} (GKE API: ResourceManagerTags)",
                "remove some",
            )


def _tags(settings: Settings) -> dict[Path, Mapping[str, str]]:
    tags: dict[Path, Mapping[str, str]] = {
        ("muster:pools", i, KEY): pool.resource_manager_tags for i, pool in enumerate(settings.pools)
    }
    tags["muster:cluster", KEY] = _defaults(settings).resource_manager_tags
    return tags


def _defaults(settings: Settings) -> NodeDefaults:
    return settings.cluster.node_defaults if isinstance(settings.cluster, Gke) else NodeDefaults()
