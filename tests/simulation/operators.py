"""Operators on the emulated API server: they read, wait a moment, and write."""

import asyncio
from random import Random
from typing import Any

from muster.kube import kinds
from muster.kube.kinds import Kind
from tests.simulation.api import Api, Body, key_of
from tests.simulation.sweeps import Sweeps

BY = "kuberay"
THINKS_S_MAX, SWEEP_S_MAX = 0.03, 0.5


class Operator:
    """An operator; its writes are refused if the object changed since it was read."""

    def __init__(self, api: Api, random: Random) -> None:
        self._api, self._random = api, random
        self._serial = 0
        self._sweeps = Sweeps(api, random, SWEEP_S_MAX)
        self.thinks_s_max = THINKS_S_MAX
        self.halted = False

    async def _think(self) -> None:
        await asyncio.sleep(self._random.uniform(0, self.thinks_s_max))

    async def _pause(self) -> None:
        await self._sweeps.next()
        while self.halted:
            await asyncio.sleep(SWEEP_S_MAX)

    def _patch(self, kind: Kind[Any], body: Body, patch: Body, *, status: bool = False) -> Body:
        version = {"resourceVersion": body["metadata"]["resourceVersion"]}
        patch = {**patch, "metadata": {**patch.get("metadata", {}), **version}}
        return self._api.merge_patch(kind, key_of(body), patch, BY, status)

    def _delete(self, kind: Kind[Any], key: str) -> bool:
        """Deletes the object; returns whether it existed."""
        if self._api.find(kind, key) is None:
            return False
        self._api.delete(kind, key, BY)
        return True

    def _keep(self, kind: Kind[Any], body: Body, finalizer: str) -> Body:
        """Returns the object with the finalizer."""
        finalizers = body["metadata"].get("finalizers", [])
        if finalizer in finalizers:
            return body
        return self._patch(kind, body, {"metadata": {"finalizers": [*finalizers, finalizer]}})

    def _let_go(self, kind: Kind[Any], body: Body, finalizer: str) -> None:
        finalizers = body["metadata"].get("finalizers", [])
        if finalizer in finalizers:
            finalizers_left = [f for f in finalizers if f != finalizer]
            self._patch(kind, body, {"metadata": {"finalizers": finalizers_left}})

    def _new_name(self, body: Body) -> str:
        self._serial += 1
        return f"{body['metadata']['name']}-{self._serial}"


def pods_owned_by(api: Api, owner: Body | None) -> list[Body]:
    uid = owner["metadata"]["uid"] if owner is not None else None
    return [p for p in api.all(kinds.PODS) if uid in owner_uids(p)]


def owned(kind: Kind[Any], owner: Body, key: str) -> Body:
    """Returns the metadata of an object that the owner controls."""
    namespace, _, name = key.rpartition("/")
    reference = {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {"name": name, "namespace": namespace, "ownerReferences": [reference]}


def owner_uids(body: Body) -> list[str]:
    return [str(owner["uid"]) for owner in body["metadata"].get("ownerReferences", [])]
