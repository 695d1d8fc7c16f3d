"""Shares equal values in memory: thousands of gangs repeat a few specs, labels and reasons.

Views are immutable, so equal views may share one object. A view shares its parts on construction, so that
they are not duplicated even within a decoded list.
"""

from collections.abc import Iterable
from sys import intern
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from muster.objects.cache import ByteCache

MAPS_BYTES_MAX = 4 * 2**20

_ENCODER = msgspec.json.Encoder()
_STRUCTS: WeakValueDictionary[int, Any] = WeakValueDictionary()  # structs in use, by the hash of their text
_MAPS: ByteCache[dict[str, Any]] = ByteCache(
    msgspec.json.Decoder(dict[str, Any]).decode, bytes_max=MAPS_BYTES_MAX
)


def share_struct(view: msgspec.Struct, field: str) -> None:
    """Replaces the struct in a field with an equal struct in use. Its class must allow weak references."""
    own = getattr(view, field)
    if own is None:
        return
    key = hash(_ENCODER.encode(own))
    shared = _STRUCTS.get(key)
    if shared is None:
        _STRUCTS[key] = own
    elif shared is not own and shared == own:
        msgspec.structs.force_setattr(view, field, shared)


def share_maps(view: msgspec.Struct, *fields: str) -> None:
    """Replaces maps of JSON values with equal maps that were decoded before."""
    for field in fields:
        msgspec.structs.force_setattr(view, field, _MAPS(_ENCODER.encode(getattr(view, field))))


def keep_entries(view: msgspec.Struct, field: str, keys: Iterable[str]) -> None:
    """Drops the other entries of a map: small ones take ten times the memory of their text."""
    own = getattr(view, field)
    entries = {key: own[key] for key in keys if key in own}
    if len(entries) < len(own):
        msgspec.structs.force_setattr(view, field, entries)


def share_strings(view: msgspec.Struct, *fields: str) -> None:
    """Replaces strings with interned strings. Fields may also be None or members of a string enum."""
    for field in fields:
        own = getattr(view, field)
        if own is not None:
            msgspec.structs.force_setattr(view, field, intern(str(own)))
