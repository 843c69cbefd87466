"""Counts of offsets by disposition."""

from dataclasses import fields

from kafka_lagoon.records.decoding import Counts

DISPOSITIONS = ("records", "control", "aborted", "compacted", "lost", "corrupt")


def test_counts_add_up() -> None:
    """Every count is added and codecs are merged; bytes are not counted as offsets."""
    numbers = [field.name for field in fields(Counts) if field.name != "codecs"]
    total = Counts(codecs={"gzip"}, **{name: 1 << place for place, name in enumerate(numbers)})
    total.add(Counts(codecs={"zstd"}, **{name: 1 << place + 10 for place, name in enumerate(numbers)}))
    assert [getattr(total, name) for name in numbers] == [
        (1 << place) + (1 << place + 10) for place in range(len(numbers))
    ]
    assert total.codecs == {"gzip", "zstd"}
    assert total.offsets() == sum(getattr(total, name) for name in DISPOSITIONS)
    assert set(numbers) == {*DISPOSITIONS, "bytes_fetched", "bytes_decoded"}
