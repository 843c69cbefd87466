"""Reads the records of a range of offsets as hashes, in chunks of Arrow batches."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.fetch.reader import SplitReader
from kafka_lagoon.fetch.split import ReadOptions, Split, SplitOutcome
from kafka_lagoon.records.columns import HEADER_KEY_NOT_UTF8
from kafka_lagoon.records.digests import ALL_FIELDS, Hashes, record_hashes

LOST = "LOST"  # retention removed records before they were read
MOST_READS = 3  # of a range, while answers are damaged on their way: their batches are read again, and come late
_KEY = frozenset({"key"})


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Consecutive records: offsets and hashes. `records` has their columns."""

    offsets: NDArray[np.int64]
    hashes: Hashes
    records: pa.RecordBatch | None = None

    def keys(self) -> NDArray[np.uint64]:
        """A hash of 64 bits of each record's key; computed on demand, because equal logs need none."""
        if self.records is None:
            return np.zeros(len(self.offsets), np.uint64)
        return record_hashes(self.records, _KEY)[:, 0]


class HashedReader:
    """Reads one split as chunks; `outcome` then says how far, and what is missing.

    `is_in_order` is false if a batch came after those that follow it in the log, because it was repaired (fetch/reader.py).
    """

    def __init__(
        self, cluster: Cluster, split: Split, options: ReadOptions, fields: frozenset[str] = ALL_FIELDS
    ) -> None:
        self._fields, self.is_in_order = fields, True
        columns = frozenset({"offset", "key", *fields})
        self._reader = SplitReader(
            cluster, split, replace(options, decoding=replace(options.decoding, columns=columns))
        )

    @property
    def outcome(self) -> SplitOutcome:
        """The outcome up to now."""
        return self._reader.outcome

    def chunks(self) -> Generator[Chunk, None, None]:
        """The records in the order of their offsets; a repaired batch comes later."""
        following = self._reader.outcome.split.from_offset
        with closing(self._reader):
            for batch in self._reader.batches():
                offsets = batch.column("offset").to_numpy()
                if len(offsets):
                    self.is_in_order &= int(offsets[0]) >= following
                    following = int(offsets[-1]) + 1
                yield Chunk(offsets, record_hashes(batch, self._fields), batch)


def unread(outcome: SplitOutcome) -> str | None:
    """The reason why a range was not read completely; None if it was."""
    if outcome.failure:
        return outcome.failure
    broken = [problem for problem in outcome.problems if problem.reason != HEADER_KEY_NOT_UTF8]
    if broken:
        return broken[0].reason
    return LOST if outcome.counts.lost else None


def read_ahead(chunks: Generator[Chunk, None, None]) -> Generator[Chunk, None, None]:
    """The chunks, the next of which a thread reads while the caller works on one; close it to stop reading."""
    with closing(chunks), ThreadPoolExecutor(1, thread_name_prefix="compare") as thread:
        following = thread.submit(next, chunks, None)
        while (chunk := following.result()) is not None:
            following = thread.submit(next, chunks, None)
            yield chunk
