"""Rows that are kept in columns equal the same rows as objects."""

from array import array
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.tables.row_classes import Int32, column, row
from kafka_lagoon.tables.row_columns import (
    Chosen,
    Columns,
    Difference,
    Joined,
    Runs,
    Stored,
    WithColumns,
    blocks,
    choose,
    column_of,
)


@row
class Sample:
    """A row."""

    number: Int32 = column("A number.")
    text: str | None = column("A text.", null_if="number = 0")


def stored(rows: Sequence[Sample]) -> Columns[Sample]:
    numbers = array("i", [one.number for one in rows])
    return Stored(Sample, {"number": numbers, "text": choose(one.text for one in rows)})


samples = st.lists(st.builds(Sample, st.integers(0, 9), st.none() | st.sampled_from("ab")), max_size=9)


@given(rows=samples, start=st.integers(-3, 12), stop=st.integers(-3, 12), size=st.integers(1, 4))
def test_columns_are_rows(rows: list[Sample], start: int, stop: int, size: int) -> None:
    """They have the same values as a whole, sliced, one by one, in blocks and by column."""
    kept = stored(rows)
    assert list(kept) == rows
    assert kept == rows
    assert len(kept) == len(rows)
    assert kept[start:stop] == rows[start:stop]
    assert [kept[at] for at in range(len(kept))] == rows
    assert list(kept[start:stop].column("text")) == [one.text for one in rows[start:stop]]
    assert [one for block in blocks(kept, size) for one in block] == rows
    assert all(len(block) <= size for block in blocks(kept, size))


@given(first=samples, second=samples, third=samples)
def test_joined_rows_are_all_of_them(first: list[Sample], second: list[Sample], third: list[Sample]) -> None:
    """Rows in columns and row objects are joined in order, and every block has only one kind."""
    joined = Joined(Sample, stored(first), second, stored(third))
    assert list(joined) == [*first, *second, *third]
    assert list(column_of(joined, "number")) == [one.number for one in (*first, *second, *third)]
    assert [one for block in blocks(joined, 2) for one in block] == list(joined)
    assert joined[1:4] == list(joined)[1:4]


def test_a_column_can_be_replaced() -> None:
    """Other columns are unchanged; a column of another length is refused."""
    rows = stored([Sample(1, "a"), Sample(2, None)])
    assert list(WithColumns(rows, text=["x", "y"])) == [Sample(1, "x"), Sample(2, "y")]
    assert list(WithColumns(rows, text=["x", "y"])[1:]) == [Sample(2, "y")]
    with pytest.raises(ValueError, match="column text: 1 values for 2 rows"):
        WithColumns(rows, text=["x"])


def test_few_values_are_kept_once() -> None:
    """A value of many rows is one object, which slices share."""
    assert list(choose(["a", "b", "a", None])) == ["a", "b", "a", None]
    assert choose("aab").values == ("a", "b")
    assert list(choose("abc")[1:]) == ["b", "c"]


@given(counts=st.lists(st.integers(0, 4), max_size=5), start=st.integers(-3, 12), stop=st.integers(-3, 12))
def test_neighbouring_rows_with_one_value(counts: list[int], start: int, stop: int) -> None:
    """A column of runs has each value as often as its count says, as a whole, sliced and one by one."""
    values = "abcde"[: len(counts)]
    plain = [value for value, count in zip(values, counts, strict=True) for _ in range(count)]
    column = Runs(counts, values)
    assert (list(column), len(column)) == (plain, len(plain))
    assert list(column[start:stop]) == plain[start:stop]
    assert list(column[::2]) == plain[::2]
    assert [column[row] for row in range(-len(plain), len(plain))] == plain * 2
    assert list(column.chosen()) == plain
    with pytest.raises(IndexError):
        column[len(plain)]


def test_one_value_in_all_rows() -> None:
    """It may be null, and there may be no rows."""
    assert list(Runs.constant(None, 2)) == [None, None]
    assert list(Runs.constant("a", 0)) == []


def test_a_place_before_the_first_is_null() -> None:
    """Index -1 stands for null, in a column and in a difference, which may have a lower limit."""
    ends, offsets = Chosen(array("i", [0, -1, 1]), [5, 9]), Chosen(array("i", [0, 0, 1]), array("q", [7, 2]))
    assert list(ends) == [5, None, 9]
    assert [ends[1], ends[2]] == [None, 9]
    difference = Difference(ends, offsets)
    assert (list(difference), len(difference)) == ([-2, None, 7], 3)
    assert (difference[2], difference[-1], list(difference[:2])) == (7, 7, [-2, None])
    assert list(Difference(ends, offsets, least=0)) == [0, None, 7]
