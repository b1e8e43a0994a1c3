"""The rules of locks: conflicts, turns, and their ends."""

from __future__ import annotations

import random
from itertools import product

import pytest

from rewriter.errors import DataError, OperationalError
from rewriter.metastore.service.calls.locks import (
    TIMEOUT_SECONDS,
    LockComponent,
    LockRequest,
    Locks,
    LockState,
    LockType,
    conflicts,
)

READ, WRITE, EXCLUSIVE = LockType.SHARED_READ, LockType.SHARED_WRITE, LockType.EXCLUSIVE
ACQUIRED, WAITING = LockState.ACQUIRED, LockState.WAITING


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def locks(clock: Clock) -> Locks:
    return Locks(clock)


def on(type: LockType, *names: str, transaction: int | None = None) -> LockRequest:
    return LockRequest((LockComponent(type, *names),), transaction)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (READ, READ, False),
        (READ, WRITE, False),
        (WRITE, WRITE, True),
        (READ, EXCLUSIVE, True),
        (WRITE, EXCLUSIVE, True),
        (EXCLUSIVE, EXCLUSIVE, True),
    ],
)
def test_types_of_locks_of_one_table(one: LockType, other: LockType, expected: bool) -> None:
    pair = LockComponent(one, "d", "t"), LockComponent(other, "d", "t")
    assert conflicts(*pair) is conflicts(*reversed(pair)) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("d",), ("d", "t"), True),
        (("d",), ("e", "t"), False),
        (("d", "t"), ("d", "u"), False),
        (("d", "t"), ("d", "t", "dt=1"), True),
        (("d", "t", "dt=1"), ("d", "t", "dt=2"), False),
        (("d", "t", "dt=1"), ("d", "u", "dt=1"), False),
        (("d",), ("d", "t", "dt=1"), True),
    ],
)
def test_levels_of_exclusive_locks(one: tuple[str, ...], other: tuple[str, ...], expected: bool) -> None:
    assert conflicts(LockComponent(EXCLUSIVE, *one), LockComponent(EXCLUSIVE, *other)) is expected
    assert conflicts(LockComponent(EXCLUSIVE, *other), LockComponent(EXCLUSIVE, *one)) is expected


def test_readers_of_a_database_admit_exclusive_locks_of_its_tables_but_not_of_itself() -> None:
    reader = LockComponent(READ, "d")
    assert not conflicts(reader, LockComponent(EXCLUSIVE, "d", "t"))
    assert not conflicts(LockComponent(EXCLUSIVE, "d", "t", "dt=1"), reader)
    assert conflicts(reader, LockComponent(EXCLUSIVE, "d"))
    assert conflicts(LockComponent(EXCLUSIVE, "d"), LockComponent(READ, "d", "t"))


def test_a_waiting_exclusive_lock_stops_later_shared_ones(locks: Locks) -> None:
    first, exclusive, later = (locks.acquire(on(type, "d", "t")) for type in (READ, EXCLUSIVE, READ))
    assert [lock.state for lock in (first, exclusive, later)] == [ACQUIRED, WAITING, WAITING]
    assert exclusive.blocked_by == first.id
    assert later.blocked_by == exclusive.id
    locks.release(first.id)
    assert locks.find(exclusive.id).state is ACQUIRED
    assert locks.find(later.id).state is WAITING
    locks.release(exclusive.id)
    assert locks.find(later.id).state is ACQUIRED


def test_a_request_gets_all_of_its_locks_or_none(locks: Locks) -> None:
    held = locks.acquire(on(EXCLUSIVE, "d", "t"))
    both = locks.acquire(LockRequest((LockComponent(READ, "d", "t"), LockComponent(EXCLUSIVE, "e", "u"))))
    after = locks.acquire(on(READ, "e", "u"))
    assert (both.state, after.state) == (WAITING, WAITING)
    locks.release(both.id)
    assert locks.find(after.id).state is ACQUIRED
    assert locks.find(held.id).state is ACQUIRED


def test_locks_of_one_request_and_of_one_transaction_do_not_conflict(locks: Locks) -> None:
    both = LockRequest((LockComponent(EXCLUSIVE, "d", "t"), LockComponent(EXCLUSIVE, "d")), transaction=1)
    assert locks.acquire(both).state is ACQUIRED
    assert locks.acquire(on(EXCLUSIVE, "d", "t", transaction=1)).state is ACQUIRED
    assert locks.acquire(on(EXCLUSIVE, "d", "t", transaction=2)).state is WAITING
    assert locks.acquire(on(EXCLUSIVE, "d", "t")).state is WAITING


def test_a_lock_without_heartbeats_expires(locks: Locks, clock: Clock) -> None:
    silent, alive = locks.acquire(on(EXCLUSIVE, "d", "t")), locks.acquire(on(EXCLUSIVE, "d", "u"))
    waiting = locks.acquire(on(READ, "d", "t"))
    clock.now = TIMEOUT_SECONDS
    assert locks.heartbeat(alive.id).heartbeats == 1
    assert locks.heartbeat(waiting.id).state is WAITING
    clock.now += 1
    assert locks.find(waiting.id).state is ACQUIRED
    assert locks.find(waiting.id).acquired_at == clock.now
    with pytest.raises(OperationalError) as failure:
        locks.heartbeat(silent.id)
    assert failure.value.condition == "LOCK_NOT_FOUND"
    assert [lock.id for lock in locks.all()] == [alive.id, waiting.id]


def test_locks_of_a_transaction_end_with_it_and_not_before(locks: Locks, clock: Clock) -> None:
    held, other = locks.acquire(on(EXCLUSIVE, "d", "t", transaction=7)), locks.acquire(on(READ, "d", "t"))
    clock.now += 10 * TIMEOUT_SECONDS
    assert locks.find(held.id).state is ACQUIRED
    with pytest.raises(OperationalError) as failure:
        locks.release(held.id)
    assert failure.value.condition == "LOCK_OF_TRANSACTION"
    other = locks.acquire(on(READ, "d", "t"))
    assert other.state is WAITING
    assert locks.transactions() == {7}
    locks.end_transactions([8])
    assert locks.find(other.id).state is WAITING
    locks.end_transactions([7])
    assert locks.find(other.id).state is ACQUIRED
    assert locks.transactions() == frozenset()


def test_a_transaction_gives_up_a_lock_that_it_waits_for(locks: Locks) -> None:
    locks.acquire(on(EXCLUSIVE, "d", "t"))
    waiting = locks.acquire(on(READ, "d", "t", transaction=7))
    locks.release(waiting.id)
    assert locks.transactions() == frozenset()


def test_a_lock_is_released_once_or_more(locks: Locks) -> None:
    held = locks.acquire(on(READ, "d"))
    locks.release(held.id)
    locks.release(held.id)
    with pytest.raises(OperationalError) as failure:
        locks.release(held.id + 1)
    assert failure.value.condition == "LOCK_NOT_FOUND"


def test_a_request_without_locks_is_refused(locks: Locks) -> None:
    with pytest.raises(DataError) as failure:
        locks.acquire(LockRequest(()))
    assert failure.value.condition == "INVALID_LOCK_REQUEST"


def test_another_server_gives_other_numbers() -> None:
    earlier = Locks().acquire(on(READ, "d"))
    assert Locks().acquire(on(READ, "d")).id > earlier.id


class Model:
    """Each lock is a set of cells of a small warehouse. The queue is walked from its head after each step."""

    CELLS = tuple(product("de", "tu", "12"))

    def __init__(self) -> None:
        self.queue: list[tuple[int, LockRequest, float]] = []

    def acquired(self) -> set[int]:
        """Returns the numbers of the requests that have their locks."""
        granted: set[int] = set()
        for position, (id, request, _) in enumerate(self.queue):
            ahead = [other for _, other, _ in self.queue[:position]]
            if not any(self.exclude(request, other) for other in ahead):
                granted.add(id)
        return granted

    def exclude(self, one: LockRequest, other: LockRequest) -> bool:
        if one.transaction is not None and one.transaction == other.transaction:
            return False
        return any(self.meet(a, b) for a in one.components for b in other.components)

    def meet(self, a: LockComponent, b: LockComponent) -> bool:
        strong = {(READ, EXCLUSIVE), (WRITE, EXCLUSIVE), (EXCLUSIVE, EXCLUSIVE), (WRITE, WRITE)}
        if (a.type, b.type) not in strong and (b.type, a.type) not in strong:
            return False
        for low, high in ((a, b), (b, a)):
            if low.type == READ and low.table is None and high.table is not None:
                return False
        return bool(self.cells(a) & self.cells(b))

    def cells(self, lock: LockComponent) -> set[tuple[str, ...]]:
        names = (lock.database, lock.table, lock.partition)
        return {
            cell for cell in self.CELLS if all(name in (None, part) for name, part in zip(names, cell, strict=True))
        }


def random_component(chance: random.Random) -> LockComponent:
    names = chance.choice(Model.CELLS)[: chance.randint(1, 3)]
    return LockComponent(chance.choice([READ, READ, WRITE, EXCLUSIVE]), *names)


@pytest.mark.parametrize("seed", range(20))
def test_random_requests_are_those_of_a_model(seed: int) -> None:
    chance, clock, model = random.Random(seed), Clock(), Model()
    locks = Locks(clock)
    before: set[int] = set()
    for _ in range(200):
        step = chance.random()
        if step < 0.5:
            components = tuple(random_component(chance) for _ in range(chance.randint(1, 3)))
            transaction = chance.choice([None, None, 1, 2, 3])
            lock = locks.acquire(LockRequest(components, transaction))
            model.queue.append((lock.id, lock.request, clock.now))
            assert (lock.state is ACQUIRED) == (lock.id in model.acquired()), seed
        elif step < 0.7 and model.queue:
            id, request, _ = chance.choice(model.queue)
            if request.transaction is None or id not in model.acquired():
                locks.release(id)
                model.queue = [entry for entry in model.queue if entry[0] != id]
        elif step < 0.8:
            ended = chance.randint(1, 3)
            locks.end_transactions([ended])
            model.queue = [entry for entry in model.queue if entry[1].transaction != ended]
        elif step < 0.95:
            model.queue = [
                (id, request, clock.now if chance.random() < 0.5 and locks.heartbeat(id) else moment)
                for id, request, moment in model.queue
            ]
        else:
            clock.now += TIMEOUT_SECONDS * 0.7
            model.queue = [
                entry
                for entry in model.queue
                if entry[1].transaction is not None or clock.now - entry[2] <= TIMEOUT_SECONDS
            ]
        there = {lock.id: lock for lock in locks.all()}
        now = {id for id, lock in there.items() if lock.state is ACQUIRED}
        assert list(there) == [id for id, _, _ in model.queue], seed
        assert now == model.acquired(), seed
        assert before & set(there) <= now, seed
        before = now
