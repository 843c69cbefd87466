"""Each edit of a log is found with its kind and its offsets."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_lagoon.compare.differences import NOT_COMPARED, Difference, Evidence, Kind, Unequal
from kafka_lagoon.compare.reading import Chunk
from kafka_lagoon.compare.sequences import compare_sequences
from tests.compare.test_sequences import chunks, hashes
from tests.effort import examples

ENDS = tuple[Kind, int, int | None, int | None, int | None, int | None]


def find(left: Sequence[int], right: Sequence[int], **more: int) -> list[Difference]:
    """Find the differences between logs of numbers."""
    compared = compare_sequences(chunks(left), chunks(right))
    unequal = Unequal(compared)
    words = set(unequal.to_count().tolist())
    pairs = [(low, high) for low, high in hashes(left).tolist() if low in words]
    return unequal.differences(Evidence(left_counts=Counter(pairs), **more))


def count_kinds(differences: Sequence[Difference]) -> Counter[Kind]:
    """The number of records of each kind."""
    return sum((Counter({one.kind: one.records}) for one in differences), Counter[Kind]())


def ends(differences: Sequence[Difference]) -> list[ENDS]:
    """Return all fields of each difference."""
    return [
        (one.kind, one.records, one.left_first, one.left_last, one.right_first, one.right_last) for one in differences
    ]


LOG = list(range(100))


def test_each_kind_at_its_offsets() -> None:
    """Differences have ranges on both sides; a side without the records has the offset at which they would be."""
    assert find(LOG, LOG) == []
    assert ends(find(LOG, [*LOG[:10], *LOG[15:]])) == [(Kind.MISSING, 5, 10, 14, 10, None)]
    assert ends(find(LOG, [*LOG[:10], 500, 501, *LOG[10:]])) == [(Kind.EXTRA, 2, 10, None, 10, 11)]
    assert ends(find(LOG, [*LOG[:20], *LOG[10:]])) == [(Kind.DOUBLED_RIGHT, 10, 20, None, 20, 29)]
    assert ends(find([*LOG[:20], *LOG[10:]], LOG)) == [(Kind.DOUBLED_LEFT, 10, 20, 29, 20, None)]
    assert ends(find(LOG, [*LOG[:10], 500, 501, *LOG[12:]])) == [(Kind.ALTERED, 2, 10, 11, 10, 11)]
    assert ends(find(LOG, [*LOG[:10], 11, 10, *LOG[12:]])) == [(Kind.REORDERED, 1, 10, 10, 11, 11)]
    assert ends(find(LOG, [*LOG[:10], *LOG[13:50], 10, 11, 12, *LOG[50:]])) == [(Kind.REORDERED, 3, 10, 12, 47, 49)]
    assert ends(find(LOG, LOG[:97])) == [(Kind.MISSING, 3, 97, 99, 97, None)]
    assert ends(find(LOG, [])) == [(Kind.MISSING, 100, 0, 99, None, None)]


def test_a_record_that_is_moved_and_doubled() -> None:
    """The first one is at another place; the second one is one too many, on either side."""
    moved = [*LOG[:10], *LOG[11:50], 10, 10, *LOG[50:]]
    assert ends(find(LOG, moved)) == [
        (Kind.REORDERED, 1, 10, 10, 49, 49),
        (Kind.DOUBLED_RIGHT, 1, 50, None, 50, 50),
    ]
    assert ends(find(moved, LOG)) == [
        (Kind.REORDERED, 1, 49, 49, 10, 10),
        (Kind.DOUBLED_LEFT, 1, 50, 50, 50, None),
    ]


def test_starts_that_retention_moved() -> None:
    """Records before the first equal one are ignored, up to the number that the other log has lost; others are missing."""
    assert ends(find(LOG, LOG[30:], right_lost=30)) == [(Kind.EXPIRED_RIGHT, 30, 0, 29, None, None)]
    assert ends(find(LOG[30:], LOG, left_lost=30)) == [(Kind.EXPIRED_LEFT, 30, None, None, 0, 29)]
    assert ends(find(LOG, LOG[30:], right_lost=7)) == [
        (Kind.EXPIRED_RIGHT, 7, 0, 6, None, None),
        (Kind.MISSING, 23, 7, 29, None, None),
    ]
    assert ends(find(LOG[30:], LOG, left_lost=7)) == [
        (Kind.EXPIRED_LEFT, 7, None, None, 0, 6),
        (Kind.EXTRA, 23, None, None, 7, 29),
    ]
    assert ends(find(LOG, LOG[30:])) == [(Kind.MISSING, 30, 0, 29, None, None)]
    assert ends(find(LOG, [500], right_lost=7)) == [
        (Kind.ALTERED, 1, 0, 0, 0, 0),
        (Kind.MISSING, 99, 1, 99, None, None),
    ]


def test_compacted_records_are_no_difference() -> None:
    """They are no difference if the other side lacks an offset there, and has a later record of their key, not an earlier one."""
    for step, last, kind in ((2, 19, Kind.COMPACTED_RIGHT), (2, 18, Kind.MISSING), (1, 99, Kind.MISSING)):
        compared = compare_sequences(chunks(LOG), chunks([*LOG[:10], *LOG[11:]], step=step))
        key = int(compared.gaps[0].left.keys[0])
        (difference,) = Unequal(compared).differences(Evidence(right_keys={key: last}))
        assert difference.kind == kind


def keyed(keys: Sequence[int], numbers: Sequence[tuple[int, int]]) -> Chunk:
    """Make a side of records of these numbers at these offsets; `keys` are the keys of all numbers."""
    offsets = np.array([offset for _, offset in numbers], np.int64)
    columns = {"key": pa.array([b"%d" % keys[number] for number, _ in numbers], pa.binary())}
    return Chunk(offsets, hashes([number for number, _ in numbers]), pa.record_batch(columns))


def test_retention_of_one_side_and_compaction_of_the_other() -> None:
    """At the same place, they do not make their records altered ones."""
    keys = [0, 1, 2, 3, 1, 0]
    left = keyed(keys, [(number, number) for number in (0, 2, 3, 4, 5)])
    right = keyed(keys, [(number, number) for number in (1, 2, 3, 4, 5)])
    last = dict(zip(left.keys().tolist(), left.offsets.tolist(), strict=True))
    differences = Unequal(compare_sequences([left], [right])).differences(Evidence(right_lost=1, left_keys=last))
    assert count_kinds(differences) == {Kind.EXPIRED_RIGHT: 1, Kind.COMPACTED_LEFT: 1}


def test_retention_of_both_sides() -> None:
    """Records of the right that the left never had are extra, if the left still has older records than the right."""
    keys = list(range(100))
    left = keyed(keys, [(number, number) for number in range(10, 60)])
    right = keyed(keys, [(90, 30), *((number, number) for number in range(31, 60))])
    differences = Unequal(compare_sequences([left], [right])).differences(Evidence(left_lost=10, right_lost=30))
    assert count_kinds(differences) == {Kind.EXPIRED_RIGHT: 21, Kind.EXTRA: 1}
    differences = Unequal(compare_sequences([right], [left])).differences(Evidence(left_lost=30, right_lost=10))
    assert count_kinds(differences) == {Kind.EXPIRED_LEFT: 21, Kind.MISSING: 1}


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["kept", "compacted", "never"])), max_size=50))
def test_compaction_explains_no_more_than_it_removed(log: list[tuple[int, str]]) -> None:
    """Records of a compacted log that it never had are missing: they have no offset, although a later record has their key."""
    last = {key: number for number, (key, _) in enumerate(log)}
    changes = [change if last[key] > number else "kept" for number, (key, change) in enumerate(log)]
    left, right, offset = list[tuple[int, int]](), list[tuple[int, int]](), 0
    for number, change in enumerate(changes):
        left.append((number, number))
        right += [(number, offset)] if change == "kept" else []
        offset += change != "never"

    numbered = [key for key, _ in log]
    whole, rest = keyed(numbered, left), keyed(numbered, right)
    keys = dict(zip(rest.keys().tolist(), rest.offsets.tolist(), strict=True))
    of_left = Unequal(compare_sequences([rest], [whole])).differences(Evidence(left_keys=keys))
    of_right = Unequal(compare_sequences([whole], [rest])).differences(Evidence(right_keys=keys))
    compacted, never = changes.count("compacted"), changes.count("never")
    assert count_kinds(of_left) == +Counter({Kind.COMPACTED_LEFT: compacted, Kind.EXTRA: never})
    assert count_kinds(of_right) == +Counter({Kind.COMPACTED_RIGHT: compacted, Kind.MISSING: never})


@settings(max_examples=examples(100))
@given(st.lists(st.integers(0, 30), max_size=50), st.lists(st.integers(0, 30), max_size=50))
def test_counts_are_those_of_multisets(left: list[int], right: list[int]) -> None:
    """For any logs: records that one side has more often are missing, extra, doubled or altered; others are equal or moved."""
    counts = count_kinds(find(left, right))
    more_left, more_right = Counter(left) - Counter(right), Counter(right) - Counter(left)
    altered = counts.get(Kind.ALTERED, 0)
    assert counts.get(Kind.MISSING, 0) + counts.get(Kind.DOUBLED_LEFT, 0) + altered == more_left.total()
    assert counts.get(Kind.EXTRA, 0) + counts.get(Kind.DOUBLED_RIGHT, 0) + altered == more_right.total()
    assert counts.get(Kind.DOUBLED_LEFT, 0) == sum(count for value, count in more_left.items() if value in right)
    assert counts.get(Kind.DOUBLED_RIGHT, 0) == sum(count for value, count in more_right.items() if value in left)
    assert (not counts) == (left == right)
    assert not NOT_COMPARED & counts.keys()


RECORDS = st.lists(st.integers(0, 30), max_size=40)


@settings(max_examples=examples(200))
@given(RECORDS, RECORDS, RECORDS, st.integers(0, 12), st.integers(0, 12))
def test_retention_explains_no_more_than_it_removed(
    left: list[int], right: list[int], shared: list[int], left_lost: int, right_lost: int
) -> None:
    """At most as many records as offsets were deleted are explained by retention, and all others are reported."""
    left, right = [*left, *shared], [*right, *shared]
    counts = count_kinds(find(left, right, left_lost=left_lost, right_lost=right_lost))
    unexplained = count_kinds(find(left, right))
    assert counts.get(Kind.EXPIRED_RIGHT, 0) <= right_lost
    assert counts.get(Kind.EXPIRED_LEFT, 0) <= left_lost
    for expired, kind in ((Kind.EXPIRED_RIGHT, Kind.MISSING), (Kind.EXPIRED_LEFT, Kind.EXTRA)):
        assert counts.get(expired, 0) + counts.get(kind, 0) == unexplained.get(kind, 0)
    if unexplained.get(Kind.MISSING, 0) > right_lost or unexplained.get(Kind.EXTRA, 0) > left_lost:
        assert counts.keys() - NOT_COMPARED
