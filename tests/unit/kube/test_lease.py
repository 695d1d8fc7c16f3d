"""Leader election: taking the Lease, when its holder may write, and losing it."""

import asyncio
import logging
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest

from muster.kube.client import Kube, NotLeading, WriteError
from muster.kube.errors import NoAnswer
from muster.kube.history import History
from muster.kube.kinds import LEASES
from muster.kube.lease import LEASE_S, RENEW_DEADLINE_S, RETRY_S, Election
from muster.kube.writes import Create, Delete, MergePatch, Write
from muster.objects.coordination import Lease, LeaseSpec
from muster.objects.meta import Object, ObjectMeta

KEY, ME, OTHER = "muster-system/muster-controller", "pod-a", "pod-b"
NOW_MS = 1_800_000_000_123
HELD = {
    "holderIdentity": ME,
    "leaseDurationSeconds": LEASE_S,
    "renewTime": "2027-01-15T08:00:00.123000Z",
}
TAKEN = {**HELD, "acquireTime": "2027-01-15T08:00:00.123000Z"}


class Api(Kube):
    """Has one Lease, or none; records writes, and can be unreachable."""

    def __init__(self, lease: LeaseSpec | None = None) -> None:
        self.lease, self.version = lease, 7
        self.reachable, self.refuses, self.answers = True, 0, True
        self.reads, self.written = 0, list[Write]()

    async def read(self, kind: Any, key: str) -> Any:
        assert (kind, key) == (LEASES, KEY)
        if not self.reachable:
            raise NoAnswer("connection refused")
        self.reads += 1
        return self.current()

    def current(self) -> Lease | None:
        if self.lease is None:
            return None
        return Lease(metadata=ObjectMeta(resource_version=str(self.version)), spec=self.lease)

    async def perform(self, write: Write) -> Object | None:
        self.written.append(write)
        if self.refuses:
            raise WriteError(write, self.refuses, "refused")
        if not self.answers:
            raise TimeoutError
        return None


class Clock:
    """The monotonic clock of an Election; its wall clock does not move."""

    def __init__(self) -> None:
        self.now_s = 100.0


def held_by(holder: str | None, seconds: int = LEASE_S, transitions: int = 3, renewed: str = "") -> LeaseSpec:
    return LeaseSpec(
        holder_identity=holder,
        lease_duration_seconds=seconds,
        lease_transitions=transitions,
        renew_time=renewed,
    )


def election(api: Api, clock: Clock, history: History | None = None) -> Election:
    return Election(
        api,
        KEY,
        ME,
        clock_s=lambda: clock.now_s,
        now_ms=lambda: NOW_MS,
        random=Random(1),
        history=history,
    )


async def tries(candidate: Election) -> bool:
    """Returns whether the candidate wins with one try."""
    try:
        async with asyncio.timeout(0.05):
            await candidate.acquire()
    except TimeoutError:
        return False
    return True


def patch(spec: dict[str, Any]) -> Write:
    return MergePatch(LEASES, KEY, {"spec": spec}, "7")


FIRST_LOOKS: dict[str, tuple[LeaseSpec | None, list[Write]]] = {
    "there is none": (
        None,
        [
            Create(
                LEASES,
                {
                    "metadata": {"namespace": "muster-system", "name": "muster-controller"},
                    "spec": {**TAKEN, "leaseTransitions": 0},
                },
            )
        ],
    ),
    "not held": (held_by(None), [patch({**TAKEN, "leaseTransitions": 4})]),
    "released, as client-go writes it": (held_by("", 1), [patch({**TAKEN, "leaseTransitions": 4})]),
    "held by the previous container of the same pod": (held_by(ME), [patch(HELD)]),
    "held by another, since an unknown time": (held_by(OTHER), []),
}


@pytest.mark.parametrize("name", FIRST_LOOKS)
def test_the_first_try_takes_a_free_lease_only(name: str) -> None:
    lease, written = FIRST_LOOKS[name]
    api = Api(lease)
    candidate = election(api, Clock())
    assert asyncio.run(tries(candidate)) is bool(written)
    assert api.written == written
    assert candidate.is_leader is bool(written)
    assert candidate.is_first is (lease is None)


class Later(NamedTuple):
    """Another's Lease `after_s` after the first look at it, and whether the candidate wins."""

    after_s: float
    lease: LeaseSpec | None
    wins: bool


ALMOST_S = LEASE_S - 0.1
LATER = {
    "not renewed, but not expired": Later(ALMOST_S, held_by(OTHER), False),
    "expired": Later(LEASE_S, held_by(OTHER), True),
    "renewed": Later(LEASE_S, held_by(OTHER, renewed="later"), False),
    "released": Later(1.0, held_by(None, 1), True),
    "held by a third candidate": Later(LEASE_S, held_by("pod-c"), False),
    "deleted, but not expired": Later(ALMOST_S, None, False),
    "deleted and expired": Later(LEASE_S, None, True),
    "its holder removed by hand, but not expired": Later(ALMOST_S, held_by(None), False),
    "its holder removed by hand, and expired": Later(LEASE_S, held_by(None), True),
    "restored with this candidate's name, but not expired": Later(ALMOST_S, held_by(ME), False),
    "restored with this candidate's name, and expired": Later(LEASE_S, held_by(ME), True),
}


@pytest.mark.parametrize("name", LATER)
def test_a_later_try_takes_an_expired_lease(name: str) -> None:
    later = LATER[name]
    api, clock = Api(held_by(OTHER)), Clock()

    candidate = election(api, clock)

    async def story() -> bool:
        assert not await tries(candidate)
        clock.now_s += later.after_s
        api.lease = later.lease
        return await tries(candidate)

    assert asyncio.run(story()) is later.wins
    assert not candidate.is_first


def test_a_term_shortened_by_hand_does_not_end_sooner() -> None:
    api, clock = Api(held_by(OTHER)), Clock()
    candidate = election(api, clock)

    async def story() -> list[bool]:
        wins = [await tries(candidate)]
        api.lease = held_by(OTHER, 1)
        for _ in range(2):
            wins.append(await tries(candidate))
            clock.now_s += LEASE_S - 0.1
        return wins

    assert asyncio.run(story()) == [False] * 3


class Seen(NamedTuple):
    """Versions of the Lease by reads; None: it does not exist. Whether the history went back or is
    doubtful then."""

    versions: tuple[int | None, ...]
    went_back: bool = False
    doubtful: bool = False


SEEN = {
    "once": Seen((7,)),
    "not renewed": Seen((7, 7)),
    "renewed": Seen((7, 9)),
    "never": Seen((None, None)),
    "created": Seen((None, 7)),
    "deleted": Seen((7, None), doubtful=True),
    "deleted and created": Seen((7, None, 9), doubtful=True),
    "of an older copy": Seen((7, 6), went_back=True),
    "of an older copy, after it was deleted": Seen((7, None, 6), went_back=True, doubtful=True),
}


@pytest.mark.parametrize("name", SEEN)
def test_a_lease_of_an_older_version_shows_that_the_history_went_back(name: str) -> None:
    observed, api, history = SEEN[name], Api(), History()
    candidate = election(api, Clock(), history)

    async def story() -> None:
        for version in observed.versions:
            api.lease = None if version is None else held_by(OTHER)
            api.version, api.refuses = version or 0, 409
            await tries(candidate)

    asyncio.run(story())
    assert (history.went_back, history.is_doubtful) == (observed.went_back, observed.doubtful)


ACQUIRED = {
    "that it created": ("2027-01-15T08:00:00.123000Z", True),
    "of the previous container of the same pod": ("2027-01-15T07:59:59.999000Z", False),
}


@pytest.mark.parametrize("whose", ACQUIRED)
def test_a_lease_whose_creation_was_not_answered_is_the_first(whose: str) -> None:
    """On an overloaded API server. To list all Workloads again would take it a minute."""
    acquired, is_first = ACQUIRED[whose]
    api, clock = Api(), Clock()
    candidate = election(api, clock)

    async def story() -> None:
        api.answers = False
        assert not await tries(candidate)
        api.answers, api.lease = True, msgspec.structs.replace(held_by(ME), acquire_time=acquired)
        assert await tries(candidate)

    asyncio.run(story())
    assert candidate.is_first is is_first


def test_a_lease_that_it_created_and_another_held_since_is_not_the_first() -> None:
    """The other may have admitted Workloads that its watch has not delivered yet."""
    api, clock = Api(), Clock()
    candidate = election(api, clock)

    async def story() -> None:
        api.answers = False
        assert not await tries(candidate)
        api.lease = msgspec.structs.replace(held_by(ME), acquire_time=TAKEN["acquireTime"])
        assert not await tries(candidate)  # it sees its Lease, and cannot renew it
        api.answers, api.lease = True, held_by(None, 1)
        assert await tries(candidate)

    asyncio.run(story())
    assert not candidate.is_first


def test_a_refused_write_does_not_win() -> None:
    api = Api()
    api.refuses = 409
    assert not asyncio.run(tries(election(api, Clock())))


WRITE_SECONDS = {0.0: 30.0, 4.0: 26.0, 19.5: 10.5, 20.0: 0.0, 60.0: 0.0}


@pytest.mark.parametrize("age_s", WRITE_SECONDS)
def test_writes_begin_before_the_renew_deadline_and_end_with_the_term(age_s: float) -> None:
    clock = Clock()
    candidate = election(Api(), clock)
    assert candidate.write_seconds() == 0
    assert asyncio.run(tries(candidate))
    clock.now_s += age_s
    assert candidate.write_seconds() == WRITE_SECONDS[age_s]
    assert candidate.is_leader is (WRITE_SECONDS[age_s] > 0)


class Answering(Api):
    """Changes the Lease as requested, unless another has changed it meanwhile."""

    async def perform(self, write: Write) -> Object | None:
        await super().perform(write)
        if isinstance(write, MergePatch) and write.resource_version != str(self.version):
            raise WriteError(write, 409, "the object has been modified")
        assert isinstance(write, Create | MergePatch)
        self.lease, self.version = held_by(write.body["spec"]["holderIdentity"]), self.version + 1
        return self.current()


RENEWALS: dict[str, tuple[Callable[[Answering], None], int, bool]] = {
    "as the last one left it": (lambda api: None, 0, True),
    "changed by an administrator": (lambda api: setattr(api, "version", 99), 1, True),
    "taken by another": (lambda api: vars(api).update(version=99, lease=held_by(OTHER)), 1, False),
    "not reachable": (lambda api: setattr(api, "refuses", 500), 0, False),
}


@pytest.mark.parametrize("name", RENEWALS)
def test_a_renewal_reads_the_lease_only_if_it_was_changed(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An overloaded API server takes seconds for each request."""
    happens, reads, succeeds = RENEWALS[name]
    api, clock = Answering(held_by(ME)), Clock()

    async def story() -> bool:
        candidate = election(api, clock)
        assert await tries(candidate)
        happens(api)
        api.reads, clock.now_s = 0, clock.now_s + 4
        await tries(candidate)
        return candidate.write_seconds() == LEASE_S

    assert asyncio.run(story()) is succeeds
    assert api.reads == reads


class Slow(Answering):
    """Takes some seconds for each request."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        super().__init__(held_by(None))
        self.clock, self.seconds = clock, seconds

    async def read(self, kind: Any, key: str) -> Any:
        self.clock.now_s += self.seconds
        return await super().read(kind, key)

    async def perform(self, write: Write) -> Object | None:
        self.clock.now_s += self.seconds
        return await super().perform(write)


PAUSES = {0.0: (0.75 * RETRY_S, RETRY_S), 1.0: (0.75 * RETRY_S - 1, RETRY_S - 1), 9.0: (0.0, 0.0)}


@pytest.mark.parametrize("seconds", PAUSES)
def test_the_longer_a_renewal_takes_the_sooner_the_next_one_follows(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The term counts from the change that was answered last, not from an earlier read."""
    clock, pauses = Clock(), list[float]()
    candidate = election(Slow(clock, seconds), clock)

    async def sleep(pause_s: float) -> None:
        pauses.append(pause_s)
        assert candidate.write_seconds() == LEASE_S - seconds
        clock.now_s += pause_s
        if len(pauses) == 3:
            raise NotLeading("enough")

    async def story() -> None:
        await candidate.acquire()
        with pytest.raises(NotLeading, match="enough"):
            await candidate.renew()

    monkeypatch.setattr("muster.kube.lease.asyncio.sleep", sleep)
    asyncio.run(story())
    least, most = PAUSES[seconds]
    assert all(least <= pause_s <= most for pause_s in pauses[1:]), pauses


def take_away(api: Api, clock: Clock) -> None:
    api.lease = held_by(OTHER)


def run_out(api: Api, clock: Clock) -> None:
    api.reachable = False
    clock.now_s += RENEW_DEADLINE_S


@pytest.mark.parametrize("happens", [take_away, run_out])
def test_a_lease_is_lost_if_taken_or_not_renewed(
    happens: Callable[[Api, Clock], None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("muster.kube.lease.RETRY_S", 0.001)
    caplog.set_level(logging.ERROR)
    api, clock = Api(), Clock()

    async def story() -> None:
        candidate = election(api, clock)
        await candidate.acquire()
        happens(api, clock)
        await candidate.renew()

    with pytest.raises(NotLeading, match="pod-a has lost Lease muster-system/muster-controller"):
        asyncio.run(story())


def test_one_failed_renewal_does_not_lose_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.kube.lease.RETRY_S", 0.001)
    api, clock = Api(), Clock()

    async def story() -> bool:
        candidate = election(api, clock)
        await candidate.acquire()
        api.reachable = False
        clock.now_s += RENEW_DEADLINE_S - 1.0
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await candidate.renew()
        return candidate.is_leader

    assert asyncio.run(story())


@pytest.mark.parametrize(("holder", "releases"), [(ME, True), (OTHER, False)])
def test_the_holder_releases_the_lease(holder: str, releases: bool) -> None:
    api = Api()

    async def story() -> bool:
        candidate = election(api, Clock())
        await candidate.acquire()
        api.written.clear()
        api.lease = held_by(holder)
        await candidate.release()
        return candidate.is_leader

    assert not asyncio.run(story())
    released = {"holderIdentity": None, "leaseDurationSeconds": 1, "renewTime": HELD["renewTime"]}
    assert api.written == ([patch(released)] if releases else [])


def test_a_candidate_that_does_not_lead_releases_nothing() -> None:
    api = Api(held_by(OTHER))
    asyncio.run(election(api, Clock()).release())
    assert api.written == []


class Sender(Kube):
    """Sends nothing, and answers too late."""

    def __init__(self, seconds: float, answers_in_s: float = 0.0) -> None:
        self.write_seconds = lambda: seconds
        self.answers_in_s = answers_in_s
        self.sent = 0

    async def _send(self, write: Write) -> Object | None:
        self.sent += 1
        await asyncio.sleep(self.answers_in_s)
        return None


def test_no_write_begins_without_the_lease() -> None:
    kube = Sender(0.0)
    with pytest.raises(NotLeading, match="not leading any more, so not done: delete Lease a/b"):
        asyncio.run(kube.perform(Delete(LEASES, "a/b")))
    assert kube.sent == 0


def test_a_write_without_a_timely_answer_is_unsure() -> None:
    with pytest.raises(WriteError, match=r"delete Lease a/b: no answer within 0.0 s") as failed:
        asyncio.run(Sender(0.001, answers_in_s=5.0).perform(Delete(LEASES, "a/b")))
    assert failed.value.unsure
