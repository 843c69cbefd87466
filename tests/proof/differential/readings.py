"""Compares readings: the records of the partitions of a topic, in the order of the reader."""

from collections.abc import Iterator, Mapping, Sequence

from tests.integration.producers import Consumed

Records = Mapping[int, Sequence[Consumed]]


def check_equal(what: str, read: Records, expected: Records) -> None:
    """AssertionError with the first record that differs."""
    assert read.keys() == expected.keys(), f"{what}: partitions {sorted(read)} of {sorted(expected)}"
    for partition, records in expected.items():
        for difference in differing(read[partition], records):
            raise AssertionError(f"{what}, partition {partition}: {difference}")


def differing(read: Sequence[Consumed], expected: Sequence[Consumed]) -> Iterator[str]:
    """The first place at which two readings differ."""
    if list(read) != list(expected):
        pairs = enumerate(zip(read, expected, strict=False))
        place = next((number for number, (one, other) in pairs if one != other), min(len(read), len(expected)))
        there, wanted = read[place : place + 1], expected[place : place + 1]
        yield f"{len(read)} records instead of {len(expected)}; record {place} is {there} instead of {wanted}"


def in_order(records: Records) -> Records:
    """The records without their offsets, which brokers assign."""
    return {partition: [one._replace(offset=-1) for one in some] for partition, some in records.items()}
