"""Without order, differences are those of the multisets of records, in any partitions."""

from collections import Counter
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.compare.differences import Kind
from kafka_lagoon.compare.multisets import BucketSums, SetDifference, fitting, records_in, set_differences
from tests.compare.test_sequences import chunks, hashes

Log = Mapping[int, list[int]]
_LOGS = st.dictionaries(st.integers(0, 3), st.lists(st.integers(0, 20), max_size=20), max_size=4)


def sums(log: Log) -> BucketSums:
    """Return the sums of all partitions."""
    total = BucketSums()
    for values in log.values():
        part = BucketSums()
        part.add(hashes(values))
        total.add_all(part)
    return total


def find(left: Log, right: Log, most: int = 1_000) -> list[SetDifference]:
    """Return the differences that both passes find."""
    buckets = fitting(sums(left), sums(right), most)
    sides = [{number: records_in(chunks(values), buckets) for number, values in log.items()} for log in (left, right)]
    return set_differences(*sides)


def count(differences: list[SetDifference], *kinds: Kind) -> int:
    """Count records of some kinds."""
    return sum(difference.records for difference in differences if difference.kind in kinds)


@given(_LOGS, _LOGS)
def test_differences_are_those_of_multisets(left: Log, right: Log) -> None:
    """They do not depend on the partitions of the records."""
    all_left, all_right = (Counter(value for values in log.values() for value in values) for log in (left, right))
    is_equal = all_left == all_right
    assert (len(sums(left).differing(sums(right))) == 0) == is_equal
    assert sums(left).records == all_left.total()
    if is_equal:
        return
    different = find(left, right)
    more_left, more_right = all_left - all_right, all_right - all_left
    assert count(different, Kind.MISSING, Kind.DOUBLED_LEFT, Kind.ALTERED) == more_left.total()
    assert count(different, Kind.EXTRA, Kind.DOUBLED_RIGHT, Kind.ALTERED) == more_right.total()
    doubled = sum(number for value, number in more_right.items() if value in all_left)
    assert count(different, Kind.DOUBLED_RIGHT) == doubled


def test_where_they_are() -> None:
    """Differences have a partition and a range of offsets; an altered record is on both sides, because its key is."""
    left = {0: list(range(10)), 1: list(range(10, 20))}
    assert find(left, {0: list(range(10))}) == [SetDifference(kind=Kind.MISSING, records=10, left=(1, 0, 9))]
    assert find(left, {3: [*range(20), 4]}) == [SetDifference(kind=Kind.DOUBLED_RIGHT, records=1, right=(3, 20, 20))]
    assert find(left, {2: [*range(19), 500]}) == [
        SetDifference(kind=Kind.ALTERED, records=1, left=(1, 9, 9), right=(2, 19, 19))
    ]


def test_a_second_pass_keeps_what_fits() -> None:
    """If all buckets differ, only the first ones are examined, and none that is too large by itself."""
    left, right = {0: list(range(10_000))}, {0: list(range(10_000, 20_000))}
    assert 90 < len(fitting(sums(left), sums(right), 100)) <= 100
    assert len(fitting(sums(left), sums(right), 0)) == 0
    often_left, often_right = {0: [1, *[5] * 1_000]}, {0: [2, *[5] * 1_001]}
    assert find(often_left, often_right, 10) == [
        SetDifference(kind=Kind.ALTERED, records=1, left=(0, 0, 0), right=(0, 0, 0))
    ]
