"""Builds a provider's response to the engine: a detailed diff."""

from collections.abc import Mapping

from pulumi.runtime.proto import provider_pb2

from preview.resources.differences import ChangeKind, Path, property_path


def diff_response(
    changes: Mapping[Path, ChangeKind],
    replacing: frozenset[Path] = frozenset(),
    *,
    delete_first: bool = False,
) -> provider_pb2.DiffResponse:
    """Returns `changes` as the engine's response; paths in `replacing` cannot be changed in place.

    delete_first: delete the old resource before creating the new one, as both would have the same name.
    """
    detailed = {}
    for path, change in changes.items():
        kind = change.value + ("_REPLACE" if path in replacing else "")
        detailed[property_path(path)] = provider_pb2.PropertyDiff(
            kind=provider_pb2.PropertyDiff.Kind.Value(kind), inputDiff=True
        )
    none, some = provider_pb2.DiffResponse.DIFF_NONE, provider_pb2.DiffResponse.DIFF_SOME
    return provider_pb2.DiffResponse(
        changes=some if changes else none,
        diffs=sorted({str(path[0]) for path in changes}),
        replaces=sorted({property_path(path) for path in replacing}),
        deleteBeforeReplace=delete_first and bool(replacing),
        detailedDiff=detailed,
        hasDetailedDiff=True,
    )
