"""The options of the decoder of records, and its results beside the columns.

Every offset that the decoder passes is counted once: as a record, or by the reason why it has no record.
"""

from dataclasses import dataclass, field

from kafka_lagoon.frozen import frozen


@frozen
class DecodeOptions:
    """Options of the decoder; sizes in bytes.

    `expanded_bytes` is the most that is decompressed into one Arrow batch (a single larger batch still is, up to
    `batch_limit_bytes`); of a batch that cannot be decoded, `raw_limit_bytes` are kept; `columns` None means all.
    """

    expanded_bytes: int = 16 << 20
    batch_limit_bytes: int = 64 << 20
    raw_limit_bytes: int = 1 << 20
    check_crcs: bool = True
    columns: frozenset[str] | None = None


@frozen
class Problem:
    """Offsets that could not be decoded, or whose header keys had to be escaped."""

    base_offset: int
    last_offset: int
    reason: str
    detail: str | None = None
    raw: bytes | None = None


@dataclass(slots=True, kw_only=True)
class Counts:
    """The offsets of a range by disposition; all but the bytes add up to its length."""

    records: int = 0
    control: int = 0
    aborted: int = 0
    compacted: int = 0
    lost: int = 0
    corrupt: int = 0
    bytes_fetched: int = 0
    bytes_decoded: int = 0
    codecs: set[str] = field(default_factory=set)

    def add(self, other: "Counts") -> None:
        """Add another range's counts to these."""
        for name in ("records", "control", "aborted", "compacted", "lost", "corrupt", "bytes_fetched", "bytes_decoded"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.codecs |= other.codecs

    def offsets(self) -> int:
        """The number of offsets that are counted."""
        return self.records + self.control + self.aborted + self.compacted + self.lost + self.corrupt
