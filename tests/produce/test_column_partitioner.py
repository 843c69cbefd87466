"""The partitioner of columns chooses the same partitions as that of single keys; records without a key stick to a partition."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.errors import RowRefused
from kafka_lagoon.produce.column_partitioner import ColumnPartitioner, group_by_partition
from kafka_lagoon.produce.partitioner import partition_of
from kafka_lagoon.records.encode_columns import RecordColumns

_KEYS = st.lists(st.none() | st.binary(max_size=40), min_size=1, max_size=50)


def _only(*partitions: int) -> ColumnPartitioner:
    return ColumnPartitioner(7, lambda: partitions, 100)


@given(keys=_KEYS, skipped=st.integers(0, 8), is_wide=st.booleans())
def test_keys_choose_as_one_by_one(keys: list[bytes | None], skipped: int, is_wide: bool) -> None:
    """Keys get the same partition as one by one, also in slices and with wide offsets; null keys go to available partitions."""
    kind = pa.large_binary() if is_wide else pa.binary()
    array = pa.array([*[b"other"] * skipped, *keys], kind)[skipped:]
    expected = [3 if key is None else partition_of(key, 7) for key in keys]
    assert _only(3).choose(RecordColumns(key=array)).tolist() == expected
    rows = np.arange(len(keys))[::-2].copy()
    assert _only(3).choose(RecordColumns(key=array), rows).tolist() == expected[::-2]


def test_given_partitions_come_first() -> None:
    """The key chooses only in rows without a partition."""
    columns = RecordColumns(key=pa.array([b"a", b"b", None]))
    chosen = _only(5).choose(columns, given=np.array([-1, 6, -1]))
    assert chosen.tolist() == [partition_of(b"a", 7), 6, 5]


def test_records_without_a_key_stay_until_a_batch_is_full() -> None:
    """The partition changes after batch_bytes, which are counted over several calls."""
    chosen_before, values = [], pa.array([b"x" * 43] * 6)  # 50 bytes each with the smallest overhead of a record

    def available() -> list[int]:
        chosen_before.append(len(chosen_before))
        return [chosen_before[-1]]

    partitioner = ColumnPartitioner(7, available, 100)
    chosen = [partitioner.choose(RecordColumns(value=values)).tolist() for _ in range(2)]
    assert chosen == [[0, 0, 1, 1, 2, 2], [3, 3, 4, 4, 5, 5]]
    partitioner = ColumnPartitioner(7, available, 90)
    chosen_before.clear()
    chosen = [partitioner.choose(RecordColumns(value=values[:3])).tolist() for _ in range(2)]
    assert chosen == [[0, 0, 1], [1, 2, 2]]
    headers = pa.array([[("h", b"x" * 90)]] * 2, pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])))
    assert len(set(partitioner.choose(RecordColumns(headers=headers)).tolist())) == 2


def test_the_choice_is_random_and_never_none() -> None:
    """Every available partition is chosen eventually; if no partition has a leader, every partition is."""
    values = RecordColumns(value=pa.array([b"x" * 200] * 200))
    assert set(_only(1, 4, 6).choose(values).tolist()) == {1, 4, 6}
    assert set(_only().choose(values).tolist()) == set(range(7))


@given(chosen=st.lists(st.integers(0, 6), max_size=60))
def test_rows_are_grouped_in_order(chosen: list[int]) -> None:
    """Each row is in the group of its partition, in order; empty groups are left out."""
    groups = group_by_partition(np.array(chosen, np.int64), 7)
    assert {partition: positions.tolist() for partition, positions in groups} == {
        partition: [position for position, one in enumerate(chosen) if one == partition] for partition in set(chosen)
    }


@pytest.mark.parametrize("wrong", [-1, 7, 2**40])
def test_a_partition_that_the_topic_does_not_have(wrong: int) -> None:
    """The error names the row, before anything is grouped."""
    with pytest.raises(RowRefused, match=rf"row 2: partition {wrong} is not one of the 7"):
        group_by_partition(np.array([0, 1, wrong]), 7)
