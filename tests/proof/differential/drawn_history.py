"""Draws a history of transactions: what each producer writes, and how each of its transactions ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from tests.integration.producers import AS_SENT, Sent

TRANSACTIONS = 500  # of a history
_HEADER_KEYS = ("", "h", "trace-id", "ключ \U0001f511", "x" * 130)
_ENDS, _ENDS_ARE = ("commit", "abort", "abandon"), (60, 38, 2)


class Transaction(NamedTuple):
    """Portions of records, each of which is acknowledged before the next one, and the end of the transaction."""

    portions: Sequence[Sequence[Sent]]
    end: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Transactions by writer; those of one writer follow each other, and writers do not wait for each other.

    Then one transaction stays open while `after` are written. `deleted` is the share of the log that is deleted in the end.
    """

    partitions: int
    segment_ms: int | None
    of_writers: Sequence[tuple[int, Sequence[Transaction]]]
    open: Transaction
    after: Sequence[Transaction]
    deleted: float

    @property
    def transactions(self) -> int:
        """The number of all transactions."""
        return sum(len(some) for _, some in self.of_writers) + 1 + len(self.after)


def any_history(random: Random, writers: int, transactions: int) -> History:
    """Draw a history of some of the writers."""
    partitions = random.randrange(1, 4)
    chosen = random.sample(range(writers), random.randrange(3, writers + 1))
    each = transactions // len(chosen)
    every_partition = [[any_record(random, partition) for partition in range(partitions)]]
    return History(
        partitions=partitions,
        segment_ms=random.choice((None, 500)),
        of_writers=[(writer, [_transaction(random, partitions) for _ in range(each)]) for writer in chosen],
        open=Transaction(every_partition, random.choice(("commit", "abort"))),
        after=[_transaction(random, partitions)._replace(end=end) for end in ("commit", "abort")],
        deleted=random.choice((0, 0, random.random())),
    )


def _transaction(random: Random, partitions: int) -> Transaction:
    portions = [
        [any_record(random, random.randrange(partitions)) for _ in range(count)]
        for count in random.choices((1, 2, 5, 30), (10, 10, 4, 0.5), k=random.choice((1, 1, 1, 2, 3)))
    ]
    (end,) = random.choices(_ENDS, _ENDS_ARE)
    return Transaction(portions, end)


def any_record(random: Random, partition: int) -> Sent:
    """Draw a record with nulls, odd headers, and times that go back."""
    key, value = _bytes(random), _bytes(random)
    headers = tuple((random.choice(_HEADER_KEYS), _bytes(random)) for _ in range(random.choice((0, 0, 0, 1, 3))))
    return Sent(key, value, AS_SENT + random.choice((0, 1, -1, 10**10, -(10**12))), headers, partition)


def _bytes(random: Random) -> bytes | None:
    size = random.choices((-1, 0, random.randrange(1, 40), 127, 2_000), (2, 1, 20, 1, 0.3))[0]
    return None if size < 0 else random.randbytes(size)
