"""Valid archived records follow from the order in which runs were written, not from their clocks."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.fetch.range_history import (
    COPY,
    TRUNCATED,
    SupersededRange,
    archived_range,
    by_partition,
    in_order_of_runs,
    incarnations,
    superseded,
)


def a_range(
    run: str, start: int, end: int, sequence: int | None, problem: str | None = None, topic_id: str | None = "x"
):
    return {
        "ingest_id": run,
        "sequence": sequence,
        "topic_id": topic_id,
        "partition": 0,
        "from_offset": start,
        "to_offset": end,
        "problem": problem,
    }


def superseded_by(*rows: Mapping[str, Any]) -> list[tuple[str, int, int, str]]:
    return [(one.ingest_id, one.from_offset, one.to_offset, one.reason) for one in superseded(rows)]


def test_a_truncation_takes_back_what_earlier_runs_had():
    """This holds also if the clock of its run was behind, so that its id is smaller."""
    rows = [
        a_range("0192-9", 0, 10, 1),
        a_range("0192-3", 10, 6, 2, "LOG_TRUNCATED"),
        a_range("0192-3", 6, 14, 2),
    ]
    assert superseded_by(*rows) == superseded_by(*reversed(rows)) == [("0192-9", 6, 10, TRUNCATED)]


def test_a_truncation_leaves_what_lies_before_it():
    """Ranges that end where the log was truncated to, or earlier, are not superseded, not even by an empty range."""
    rows = [a_range("a", 0, 3, 1), a_range("b", 3, 6, 2), a_range("c", 6, 9, 3), a_range("d", 9, 6, 4, "LOG_TRUNCATED")]
    assert superseded_by(*rows) == [("c", 6, 9, TRUNCATED)]


def test_runs_without_a_number_came_first():
    """They are ordered by their ids; the first run with a number follows them, whatever its id is."""
    rows = [a_range("b", 5, 9, None), a_range("a", 0, 5, None), a_range("0", 9, 12, 1)]
    assert [row["ingest_id"] for row in in_order_of_runs(rows)] == ["a", "b", "0"]


def test_a_re_created_topic_that_is_still_empty_is_the_last_one():
    """Its begin and the end of the topic before it are of one run and have no records; their offsets do not order them."""
    rows = [
        a_range("a", 0, 5_000, 1, topic_id="old"),
        a_range("b", 0, 0, 2, topic_id="new"),
        a_range("b", 5_000, 5_000, 2, "TOPIC_RECREATED", "old"),
    ]
    assert [row["topic_id"] for row in in_order_of_runs(rows)] == ["old", "old", "new"]


def test_a_truncation_comes_before_records_of_the_same_run():
    """This holds also if the topic was deleted while they were read, or has just got an id from upgraded brokers."""
    rows = [a_range("a", 0, 9, 1), a_range("b", 9, 4, 2, "LOG_TRUNCATED"), a_range("b", 4, 7, 2, "TOPIC_DELETED")]
    assert superseded_by(*rows) == superseded_by(*reversed(rows)) == [("a", 4, 9, TRUNCATED)]
    assert archived_range(rows) == (0, 7)
    upgraded = [a_range("b", 9, 9, 2), a_range("b", 9, 4, 2, "LOG_TRUNCATED"), a_range("b", 4, 7, 2)]
    assert superseded_by(*upgraded) == superseded_by(*reversed(upgraded)) == []


def test_a_truncation_comes_before_the_end_of_its_topic():
    """It takes records of a topic without an id back, also if the topic was deleted before anything was read after it."""
    rows = [
        a_range("a", 0, 9, 1, topic_id=None),
        a_range("b", 9, 4, 2, "LOG_TRUNCATED", None),
        a_range("b", 4, 4, 2, "TOPIC_DELETED", None),
        a_range("c", 0, 5, 3, topic_id=None),
    ]
    assert superseded_by(*rows) == superseded_by(*reversed(rows)) == [("a", 4, 9, TRUNCATED)]


def test_what_was_archived_again_is_a_copy():
    """One broker denied a topic for a moment, and it began again under the same id."""
    rows = [
        a_range("a", 0, 5, None),
        a_range("b", 5, 5, None, "TOPIC_DELETED"),
        a_range("c", 0, 5, None),
        a_range("d", 5, 8, 4),
        a_range("e", 8, 8, 5, "TOPIC_DELETED"),
        a_range("f", 0, 9, 6),
    ]
    assert superseded_by(*rows) == [("c", 0, 5, COPY), ("f", 0, 8, COPY)]


def test_what_a_truncated_log_goes_on_with_is_no_copy():
    """The later archive replaces the earlier one."""
    rows = [a_range("a", 0, 9, 1), a_range("b", 9, 4, 2, "LOG_TRUNCATED"), a_range("b", 4, 7, 2), a_range("c", 5, 9, 3)]
    assert superseded_by(*rows) == [("a", 4, 9, TRUNCATED), ("c", 5, 7, COPY)]


def test_topics_without_ids_end_with_their_deletion():
    """Before Kafka 2.8, the next topic with the name has other records at the same offsets."""
    rows = [
        a_range("a", 0, 9, 1, topic_id=None),
        a_range("b", 9, 9, 2, "TOPIC_DELETED", topic_id=None),
        a_range("c", 0, 7, 3, topic_id=None),
        a_range("d", 7, 5, 4, "LOG_TRUNCATED", topic_id=None),
    ]
    assert superseded_by(*rows) == [("c", 5, 7, TRUNCATED)]


def test_a_truncation_takes_back_the_end():
    """The archive ends where the log did, also if it was truncated to before the first archived offset."""
    truncated = [a_range("a", 20, 100, 1), a_range("b", 100, 50, 2, "LOG_TRUNCATED"), a_range("b", 50, 80, 2)]
    assert archived_range(truncated) == archived_range(reversed(truncated)) == (20, 80)
    assert archived_range([*truncated, a_range("c", 80, 120, 3)]) == (20, 120)
    assert archived_range([*truncated, a_range("c", 80, 5, 3, "LOG_TRUNCATED")]) == (5, 5)


def test_copies_and_earlier_topics_leave_the_end():
    """Neither takes records back."""
    assert archived_range([a_range("a", 0, 9, None), a_range("c", 0, 5, None)]) == (0, 9)
    ended = [a_range("a", 0, 9, 1, topic_id=None), a_range("b", 9, 9, 2, "TOPIC_DELETED", topic_id=None)]
    assert archived_range(ended) == (0, 9)
    truncated = [a_range("c", 0, 7, 3, topic_id=None), a_range("d", 7, 5, 4, "LOG_TRUNCATED", topic_id=None)]
    assert archived_range([*ended, *truncated]) == (0, 9)


STEPS = st.lists(st.tuples(st.sampled_from(["read", "truncate", "again"]), st.integers(0, 12)), max_size=12)


@given(STEPS)
def test_each_offset_counts_once(steps: list[tuple[str, int]]):
    """Of each offset that was not truncated, the record that was read last is valid."""
    rows, archived = [], dict[int, str]()  # by offset: the run with the valid record
    position = 0
    for number, (step, argument) in enumerate(steps, 1):
        run = f"run-{argument:02d}-{number}"
        if step == "read":
            rows.append(a_range(run, position, position + argument, number))
            for offset in range(position, position + argument):
                archived.setdefault(offset, run)
            position += argument
        elif step == "truncate" and argument < position:
            rows.append(a_range(run, position, argument, number, "LOG_TRUNCATED"))
            archived = {offset: kept for offset, kept in archived.items() if offset < argument}
            position = argument
        elif step == "again":
            rows.append(a_range(run, position, position, number, "TOPIC_DELETED"))
            position = 0
    left: list[tuple[int, str]] = [
        (offset, row["ingest_id"])
        for row in rows
        for offset in range(row["from_offset"], row["to_offset"])
        if not any(_has(one, row["ingest_id"], offset) for one in superseded(rows))
    ]
    assert sorted(left) == sorted(archived.items())
    if rows:
        assert archived_range(rows) == (0, max(archived, default=-1) + 1)


def _has(superseded: SupersededRange, run: str, offset: int) -> bool:
    return superseded.ingest_id == run and superseded.from_offset <= offset < superseded.to_offset


def ids_and_ranges(*rows: Mapping[str, Any]) -> list[tuple[str | None, list[tuple[int, int]], bool]]:
    """Return the incarnations of a name, each with its ranges that have offsets."""
    return [
        (
            one.topic_id,
            [(row["from_offset"], row["to_offset"]) for row in one.rows if row["from_offset"] != row["to_offset"]],
            one.began_without_id,
        )
        for one in incarnations(rows)
    ]


def test_a_topic_that_got_an_id_later():
    """Brokers were upgraded: the topic goes on under its id, unless it had ended before."""
    first, second = a_range("a", 0, 5, 1, topic_id=None), a_range("b", 5, 8, 2, topic_id=None)
    pause, going_on = a_range("c", 8, 8, 3), a_range("c", 8, 9, 3)
    ended = a_range("b", 5, 5, 2, "TOPIC_RECREATED", topic_id=None)
    assert ids_and_ranges(first, second, pause, going_on) == [("x", [(0, 5), (5, 8), (8, 9)], True)]
    assert ids_and_ranges(first, ended, a_range("c", 0, 9, 3)) == [("x", [(0, 9)], False), (None, [(0, 5)], False)]
    again = a_range("b", 0, 8, 2, topic_id=None)
    both = [ended, again, first, pause, going_on]
    assert ids_and_ranges(*both) == [("x", [(0, 8), (8, 9)], True), (None, [(0, 5)], False)]
    (newest, _) = incarnations([{**row, "partition": 0} for row in both])
    assert [(one.ingest_id, one.from_offset, one.to_offset) for one in newest.earlier_ranges(0)] == [("a", 0, 5)]
    assert newest.earlier_ranges(1) == []


def test_several_topics_before_one_got_an_id():
    """It goes on under its id after the last end; topics that ended before, with and without an id, keep their own ranges."""
    rows = [
        a_range("0", 0, 4, 0, topic_id="w"),
        a_range("a", 0, 5, 1, topic_id=None),
        a_range("b", 5, 5, 2, "TOPIC_DELETED", topic_id=None),
        a_range("c", 0, 7, 3, topic_id=None),
        a_range("d", 7, 7, 4, "TOPIC_DELETED", topic_id=None),
        a_range("e", 0, 2, 5, topic_id=None),
        a_range("f", 2, 3, 6),
    ]
    assert ids_and_ranges(*rows) == [
        ("x", [(0, 2), (2, 3)], True),
        (None, [(0, 5), (0, 7)], False),
        ("w", [(0, 4)], False),
    ]
    earlier = {one.topic_id: one.earlier_ranges(0) for one in incarnations([{**row, "partition": 0} for row in rows])}
    assert [(one.ingest_id, one.from_offset, one.to_offset) for one in earlier["x"]] == [("a", 0, 5), ("c", 0, 7)]
    assert earlier[None] == earlier["w"] == []


def test_topics_without_ids_that_are_others():
    """Without later ranges there is no id; an id that was known before is that of another topic, and so is one after an end."""
    without = [a_range("a", 0, 5, 1, topic_id=None), a_range("b", 5, 8, 2, topic_id=None)]
    assert ids_and_ranges(*without) == [(None, [(0, 5), (5, 8)], False)]
    rows = [a_range("0", 0, 4, 0), *without, a_range("c", 8, 9, 3)]
    assert ids_and_ranges(*rows) == [("x", [(0, 4), (8, 9)], False), (None, [(0, 5), (5, 8)], False)]
    gone = [a_range("c", 8, 8, 3, "TOPIC_DELETED", topic_id=None), a_range("d", 0, 2, 4, topic_id="y")]
    assert ids_and_ranges(*without, *gone) == [("y", [(0, 2)], False), (None, [(0, 5), (5, 8)], False)]


def test_the_newest_topic_may_be_empty():
    """Its first range, without a record, may stand before the event that ended the earlier topic, and it may end in its first run."""
    rows = [
        a_range("a", 0, 9, 1, topic_id="old"),
        a_range("b", 0, 0, 2, topic_id="new"),
        a_range("b", 9, 9, 2, "TOPIC_RECREATED", topic_id="old"),
    ]
    assert [one.topic_id for one in incarnations(rows)] == ["new", "old"]
    deleted = [rows[0], rows[2], a_range("b", 0, 5, 2, "TOPIC_DELETED", topic_id="new")]
    assert [one.topic_id for one in incarnations(deleted)] == ["new", "old"]
    late = [rows[0], rows[1], {**rows[2], "ingest_id": "c", "sequence": 3}]
    assert [one.topic_id for one in incarnations(late)] == ["new", "old"]
    assert incarnations([]) == []


def test_ranges_by_partition():
    """Partitions ascend, and the ranges of each stay in their order."""
    rows = [{"partition": number, "from_offset": offset} for number, offset in ((2, 5), (0, 9), (2, 1), (10, 0))]
    assert by_partition(rows) == {0: [rows[1]], 2: [rows[0], rows[2]], 10: [rows[3]]}
    assert list(by_partition(rows)) == [0, 2, 10]


def test_records_of_earlier_topics_are_looked_up():
    """The ranges of a topic that had the name before are not looked through for each partition."""
    looked_at = list[str]()

    class Row(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            looked_at.append(name)
            return super().__getitem__(name)

    partitions = range(40)
    rows = [
        Row(a_range(run, 0, 5, sequence, problem, topic_id), partition=number)
        for run, sequence, problem, topic_id in (
            ("1", 1, None, None),
            ("2", 2, "TOPIC_RECREATED", None),
            ("3", 3, None, None),
            ("4", 4, None, "new"),
        )
        for number in partitions
    ]
    (newest, _) = incarnations(rows)
    earlier = {number: [one.ingest_id for one in newest.earlier_ranges(number)] for number in partitions}
    assert list(earlier.values()) == [["1", "2"]] * len(partitions)
    assert looked_at.count("partition") < 3 * len(rows)
