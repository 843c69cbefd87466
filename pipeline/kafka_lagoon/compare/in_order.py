"""Compares one partition of two topics in order; both sides are read at the same time."""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from kafka_lagoon.client.failures import Failure
from kafka_lagoon.compare.connections import Connections
from kafka_lagoon.compare.differences import Evidence, Hash, Unequal
from kafka_lagoon.compare.reading import LOST, MOST_READS, read_ahead, unread
from kafka_lagoon.compare.result import ComparedPartition, How, failures_of, notes_of
from kafka_lagoon.compare.sequences import Report, compare_sequences
from kafka_lagoon.compare.sides import Connection, Side, Source
from kafka_lagoon.fetch.split import Split, SplitOutcome
from kafka_lagoon.frozen import frozen

LOST_MEANWHILE = "records were deleted before they were read again: what is doubled may be called missing or extra"
_NO_WORDS = np.empty(0, np.uint64)


def compare_partition(
    connections: Connections, sides: tuple[Side, Side], number: int, how: How, report: Report
) -> tuple[ComparedPartition, list[Failure]]:
    """Compare a partition; returns the comparison and failures to read."""
    with connections.lend() as pair:
        splits = [side.splits[number] for side in sides]
        for _ in range(MOST_READS):
            readers = [
                connection.read(split, how.read, how.fields) for connection, split in zip(pair, splits, strict=True)
            ]
            with ExitStack() as stack:
                left, right = (
                    stack.enter_context(closing(read_ahead(connections.chunks(reader)))) for reader in readers
                )
                compared = compare_sequences(left, right, how.limits, report)
            if all(reader.is_in_order for reader in readers):
                break
        unequal = Unequal(compared)
        second = _Second(connections, pair, [reader.outcome for reader in readers], how)
        evidence = second.evidence(unequal, [side.lost[number] for side in sides])
    outcomes = [(side.of, reader.outcome) for side, reader in zip(sides, readers, strict=True)]
    failures = [failure for of, outcome in outcomes for failure in failures_of(of, outcome)]
    if not failures:  # a second pass would fail, too
        failures = [failure for index in (0, 1) for failure in second.failures(index, sides[index].of)]
    part = ComparedPartition(
        partition=number,
        left=splits[0],
        right=splits[1],
        left_records=compared.equal + sum(len(gap.left) for gap in compared.gaps),
        right_records=compared.equal + sum(len(gap.right) for gap in compared.gaps),
        equal=compared.equal,
        differences=unequal.differences(evidence),
        gave_up=compared.gave_up,
        notes=[note for of, outcome in outcomes for note in notes_of(of, outcome)] + second.notes,
    )
    return part, failures


class _Second:
    """A second pass over a partition that differs, for values that must be counted in all of it."""

    def __init__(
        self, connections: Connections, pair: Sequence[Connection], first: Sequence[SplitOutcome], how: How
    ) -> None:
        self._connections, self._pair, self._first, self._how = connections, pair, first, how
        self._outcomes: dict[int, SplitOutcome] = {}
        self.notes: list[str] = []

    def failures(self, index: int, of: Source) -> list[Failure]:
        """Failures to read a side again; records that retention has removed meanwhile are only a note."""
        outcome = self._outcomes.get(index)
        if outcome is None:
            return []
        if unread(outcome) == LOST:
            self.notes.append(f"{of}, partition {outcome.split.partition}: {LOST_MEANWHILE}")
            return []
        return failures_of(of, outcome)

    def evidence(self, unequal: Unequal, lost: Sequence[int]) -> Evidence:
        """Facts about the records in gaps. Keys are read where compaction has left offsets without records."""
        words, keys = unequal.to_count(), unequal.keys()
        is_compacted = [outcome.counts.compacted > 0 for outcome in self._first]
        left = self._look_up(0, words, keys if is_compacted[0] else _NO_WORDS) if len(words) else _LookedUp()
        right = self._look_up(1, _NO_WORDS, keys) if len(words) and is_compacted[1] else _LookedUp()
        return Evidence(
            left_counts=left.counts,
            left_lost=lost[0],
            right_lost=lost[1],
            left_keys=left.last_offsets,
            right_keys=right.last_offsets,
        )

    def _look_up(self, index: int, words: NDArray[np.uint64], keys: NDArray[np.uint64]) -> "_LookedUp":
        split: Split = self._first[index].split
        reader = self._pair[index].read(split, self._how.read, self._how.fields)
        result = _LookedUp()
        for chunk in self._connections.chunks(reader):
            is_wanted = _is_in(chunk.hashes[:, 0], words)
            result.counts.update((low, high) for low, high in chunk.hashes[is_wanted].tolist())
            if len(keys):
                of_chunk = chunk.keys()
                is_wanted = _is_in(of_chunk, keys)
                pairs = zip(of_chunk[is_wanted].tolist(), chunk.offsets[is_wanted].tolist(), strict=True)
                result.last_offsets.update(pairs)
        self._outcomes[index] = reader.outcome
        return result


@frozen(kw_only=False)
class _LookedUp:
    """The number of occurrences of each hash in a log, and the last offsets of its keys."""

    counts: Counter[Hash] = field(default_factory=Counter)
    last_offsets: dict[int, int] = field(default_factory=dict)


def _is_in(words: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """True for each word that is in `wanted`, which is sorted."""
    if not len(wanted):
        return np.zeros(len(words), np.bool_)
    index = np.searchsorted(wanted, words).clip(max=len(wanted) - 1)
    is_equal: NDArray[np.bool_] = wanted[index] == words
    return is_equal
