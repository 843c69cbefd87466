"""Filters become ranges, and never exclude rows that pass."""

import operator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from kafka_lagoon.source.filters import Pushed, push
from tests.comparisons import Comparisons

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
OPERATORS = {
    EqualTo: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
    In: lambda value, values: value in values,
}


def filters_on(column: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Filter]:
    """Compare a column in any way with these values."""
    compared = [st.builds(kind, st.just((column,)), values) for kind in OPERATORS if kind is not In]
    several = st.builds(In, st.just((column,)), st.lists(values, min_size=1, max_size=3).map(tuple))
    return st.one_of(*compared, several)


def passes(filters: list[Filter], value: Any) -> bool:
    """Evaluate the filters as SQL does."""
    return all(OPERATORS[type(one)](value, one.value) for one in filters)  # type: ignore[attr-defined]


@given(st.lists(filters_on("offset", st.integers(0, 20)), max_size=4), st.integers(0, 25))
def test_offsets_are_exact(filters: list[Filter], offset: int):
    """The offsets that are read, and the filters that are left to Spark, select exactly the offsets that pass."""
    pushed, rest = push(filters)
    read = pushed.from_offset <= offset and (pushed.to_offset is None or offset < pushed.to_offset)
    assert (read and passes(rest, offset)) == passes(filters, offset)


@given(st.lists(filters_on("topic", st.sampled_from("abc")), max_size=3), st.sampled_from("abcd"))
def test_topics_are_exact(filters: list[Filter], topic: str):
    """A topic is read if and only if it passes, and no filter is left to Spark."""
    pushed, rest = push(filters)
    assert pushed.admits(topic, 0) == passes(filters, topic)
    assert rest == []


@given(st.lists(filters_on("partition", st.integers(0, 5)), max_size=3), st.integers(0, 6))
def test_partitions_are_exact(filters: list[Filter], partition: int):
    """A partition is read if and only if it passes, and no filter is left to Spark."""
    pushed, rest = push(filters)
    assert pushed.admits("orders", partition) == passes(filters, partition)
    assert rest == []


@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("bound", [0, 9])
def test_the_bound_of_each_comparison(kind: type[Filter], bound: int):
    """Of the offsets and partitions beside the bound exactly those are read that pass; null in a list accepts nothing."""
    for value in ((bound, bound), (bound, None)) if kind is In else (bound,):
        for number in (0, abs(bound - 1), bound, bound + 1, bound + 2):
            on_offset, on_partition = kind(("offset",), value), kind(("partition",), value)
            (pushed, rest), (by_partition, _) = push([on_offset]), push([on_partition])
            read = pushed.from_offset <= number and (pushed.to_offset is None or number < pushed.to_offset)
            assert (read and passes(rest, number)) == passes([on_offset], number), number
            assert kind is In or read == passes([on_offset], number), number
            assert by_partition.admits("t", number) == passes([on_partition], number)


def test_a_list_of_null_alone():
    """It accepts no offset and no time, as in SQL."""
    pushed, _ = push([In(("offset",), (None,))])
    assert pushed.to_offset == 0
    assert push([In(("timestamp",), (None,))])[0].from_ms is None
    latest = [GreaterThan(("timestamp_ms",), at) for at in (7, 9, 8)]
    assert push(latest)[0].from_ms == 10


MOMENTS = st.integers(-3_000, 9_000).map(lambda micros: EPOCH + timedelta(microseconds=micros))


@given(st.lists(filters_on("timestamp", MOMENTS), max_size=4), st.integers(-2, 9))
def test_no_record_of_the_time_is_left_out(filters: list[Filter], timestamp_ms: int):
    """No record that passes is before the first millisecond that is read; Spark evaluates all of these filters again."""
    pushed, rest = push(filters)
    assert rest == filters
    if passes(filters, EPOCH + timedelta(milliseconds=timestamp_ms)):
        assert pushed.from_ms is None or timestamp_ms >= pushed.from_ms


@pytest.mark.parametrize(
    ("predicate", "from_ms"),
    [
        (GreaterThan(("timestamp",), EPOCH + timedelta(seconds=1)), 1_001),
        (GreaterThanOrEqual(("timestamp",), EPOCH + timedelta(seconds=1)), 1_000),
        (GreaterThan(("timestamp",), EPOCH + timedelta(seconds=1, microseconds=1)), 1_001),
        (EqualTo(("timestamp",), EPOCH + timedelta(seconds=1, microseconds=1)), 1_001),
        (In(("timestamp",), (EPOCH + timedelta(seconds=2), EPOCH + timedelta(seconds=1))), 1_000),
        (GreaterThan(("timestamp_ms",), 1_000), 1_001),
        (GreaterThan(("timestamp_ms",), -5), None),
        (GreaterThan(("timestamp_ms",), 2**63 - 1), 2**63 - 1),
        (GreaterThan(("timestamp",), EPOCH - timedelta(days=1)), None),
        (LessThan(("timestamp",), EPOCH + timedelta(seconds=1)), None),
        (IsNotNull(("timestamp",)), None),
    ],
)
def test_bounds_of_time(predicate: Filter, from_ms: int | None):
    """The bound is the first millisecond that passes; before 1970, where Kafka's numbers have other meanings, there is none."""
    assert push([predicate]) == (Pushed(from_ms=from_ms), [predicate])


def test_what_is_never_null_needs_no_check():
    """Spark adds IS NOT NULL to every comparison; for these columns it is always true."""
    never = [IsNotNull((name,)) for name in ("topic", "partition", "offset")]
    assert push(never) == (Pushed(), [])


def test_other_filters_are_left_to_spark():
    """A filter on another column, or of another kind, does not narrow what is read."""
    others = [Not(EqualTo(("topic",), "a")), StringStartsWith(("topic",), "a"), EqualTo(("key",), b"k")]
    others += [EqualTo(("headers", "key"), "k"), IsNotNull(("value",))]
    assert push(others) == (Pushed(), others)


def test_filters_on_several_columns():
    """All filters have to pass."""
    filters = [
        EqualTo(("topic",), "a"),
        In(("partition",), (0, 2)),
        GreaterThan(("offset",), 9),
        LessThan(("offset",), 20),
    ]
    pushed, rest = push([*filters, In(("offset",), (12, 15))])
    assert (pushed.from_offset, pushed.to_offset) == (12, 16)
    assert [pushed.admits(*at) for at in (("a", 0), ("a", 1), ("b", 0))] == [True, False, False]
    assert rest == [In(("offset",), (12, 15))]


@pytest.mark.parametrize("column", ["topic", "partition"])
def test_values_of_a_list_are_looked_up(column: str) -> None:
    """A thousand topics in a list do not cost a thousand comparisons for each partition."""
    of = Comparisons()
    values = [of.counting(f"topic-{number}") if column == "topic" else of.counting(number) for number in range(200)]
    pushed, _ = push([In((column,), tuple(values))])
    admitted = [pushed.admits(value, 0) if column == "topic" else pushed.admits("a", value) for value in values]
    assert all(admitted)
    assert not pushed.admits("other", 200)
    assert of.count <= 2 * len(values)
