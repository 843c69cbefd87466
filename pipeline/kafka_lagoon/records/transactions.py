"""Follows aborted transactions through the batches of a Fetch response.

Only an ABORT marker ends an aborted transaction, as in Kafka's own consumer. The response lists each aborted transaction that
overlaps the fetched offsets, in no particular order; markers without a transaction in the list have no effect.
"""

from collections.abc import Iterable
from operator import itemgetter

ABORT = 0


class AbortedTransactions:
    """State of the aborted transactions of one response; every batch with a producer id must be passed to it, in order."""

    def __init__(self, aborted: Iterable[tuple[int, int]]) -> None:
        # Pairs of producer id and first offset; the last one begins next.
        self._to_come = sorted(aborted, key=itemgetter(1), reverse=True)
        self._open: set[int] = set()

    @property
    def may_be_open(self) -> bool:
        """True if an aborted transaction is open, so that later batches depend on earlier ones."""
        return bool(self._open)

    def may_be_open_at(self, last_offset: int) -> bool:
        """True if an aborted transaction may be open at an unreadable batch; compaction may have removed its other batches."""
        return self.may_be_open or bool(self._to_come and self._to_come[-1][1] <= last_offset)

    def holds(self, producer_id: int, last_offset: int) -> bool:
        """True if a transactional batch of data is part of an aborted transaction."""
        self._begin(last_offset)
        return producer_id in self._open

    def end(self, producer_id: int, last_offset: int, marker: int) -> None:
        """Take note of a control batch, by the type of its first record."""
        self._begin(last_offset)
        if marker == ABORT:
            self._open.discard(producer_id)

    def _begin(self, last_offset: int) -> None:
        while self._to_come and self._to_come[-1][1] <= last_offset:
            self._open.add(self._to_come.pop()[0])
