"""Which batches belong to aborted transactions: the broker's list and the batches in order in, yes or no out.

Guards one rule: only an ABORT marker ends an aborted transaction, as in Kafka's own consumer. The list holds each transaction
that overlaps the fetched offsets, in no particular order; markers without a transaction in the list are nothing special.
"""

from collections.abc import Iterable
from operator import itemgetter

ABORT = 0


class AbortedTransactions:
    """Follows the batches of one answer, to be told of each that has a producer id, in their order."""

    def __init__(self, aborted: Iterable[tuple[int, int]]) -> None:
        # Pairs of producer id and first offset; the next one to begin stands last.
        self._to_come = sorted(aborted, key=itemgetter(1), reverse=True)
        self._open: set[int] = set()

    @property
    def may_be_open(self) -> bool:
        """Whether what comes next may depend on what came before."""
        return bool(self._open)

    def holds(self, producer_id: int, last_offset: int) -> bool:
        """Whether a transactional batch of data is part of an aborted transaction."""
        self._begin(last_offset)
        return producer_id in self._open

    def mark(self, producer_id: int, last_offset: int, marker: int) -> None:
        """Take notice of a control batch and the type of its first record."""
        self._begin(last_offset)
        if marker == ABORT:
            self._open.discard(producer_id)

    def _begin(self, last_offset: int) -> None:
        while self._to_come and self._to_come[-1][1] <= last_offset:
            self._open.add(self._to_come.pop()[0])
