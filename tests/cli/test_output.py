"""Output for people is aligned tables without control characters; output for scripts has every value exactly."""

import json

from kafka_lagoon.cli.output import RowSet, failure_lines, people_lines
from kafka_lagoon.cli.people import Screen
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.tables.cluster_rows import TopicPartitions
from kafka_lagoon.tables.row_classes import Int64, Timestamp, column, row

ODD = "a\x1b[31m\u202e\n\x00b"
COLUMNS = ("name", "offset", "at_ms", "some", "flag")


@row
class _Row:
    name: str | None = column("")
    offset: Int64 | None = column("")
    at_ms: Timestamp | None = column("")
    some: tuple[TopicPartitions, ...] | tuple[int, ...] | None = column("")
    flag: bool | None = column("")
    raw: bytes | None = column("")


def _odd() -> _Row:
    some = (TopicPartitions(topic=ODD, topic_id=None, partitions=(0, 1)),)
    return _Row(name=ODD, offset=2**63 - 1, at_ms=1, some=some, flag=True, raw=b"\xff")


def test_names_never_steer_a_terminal() -> None:
    """Control characters, escapes and direction marks are escaped, also in lists."""
    lines = list(RowSet(kind="odd", rows=[_odd()]).table_lines(COLUMNS))
    assert all(line.isprintable() for line in lines)
    assert lines[1].startswith(r"a\u001b[31m\u202e\u000a\u0000b  9223372036854775807  1970-01-01T00:00:00.001Z")
    assert lines[1].endswith(r"a\u001b[31m\u202e\u000a\u0000b:0,1  yes")


def test_scripts_see_every_value_exactly() -> None:
    """64-bit numbers, odd names and bytes are exact; a row is one line, with its kind first."""
    (block,) = RowSet(kind="odd", rows=[_odd()]).json_blocks()
    line = block.removesuffix("\n")
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line) == {
        "kind": "odd",
        "name": ODD,
        "offset": 2**63 - 1,
        "at_ms": 1,
        "some": [{"topic": ODD, "topic_id": None, "partitions": [0, 1]}],
        "flag": True,
        "raw": {"base64": "/w=="},
    }


def test_what_is_unknown_is_a_dash_and_numbers_stand_right() -> None:
    """Numbers are right-aligned, unknown values are dashes; times outside the calendar stay numbers; no rows have a text."""
    rows = [
        _Row(name="", offset=5, at_ms=None, some=(), flag=None, raw=None),
        _Row(name=None, offset=None, at_ms=2**62, some=(1, 2), flag=False, raw=None),
    ]
    assert list(RowSet(kind="row", rows=rows).table_lines(COLUMNS)) == [
        "name  offset                   at  some  flag",
        '""         5                    -  []    -',
        "-          -  4611686018427387904  1,2   no",
    ]
    nothing = RowSet(kind="row", rows=[], columns=COLUMNS)
    assert [*people_lines(nothing, Screen(), wide=False, is_titled=False, is_first=True)] == ["(none)"]


def test_rows_may_have_lines_of_their_own() -> None:
    """Rows of a generator are printed one by one as lines."""
    records = RowSet(kind="record", rows=iter([1, 2]), line=str)
    shown = iter(people_lines(records, Screen(), wide=False, is_titled=False, is_first=True))
    assert next(shown) == "1"
    assert next(shown) == "2"


def test_failures_are_one_line_per_broker_and_reason() -> None:
    """Equal failures of many partitions share a line, with the broker's message."""

    def failed(partition: int) -> Failure:
        scope = Scope.of_partition("t", partition)
        return Failure(
            api="ListOffsets", node_id=2, scope=scope, code=None, name="LOST", attempts=1, elapsed_ms=1, message="a\nb"
        )

    lines = list(failure_lines([failed(number) for number in range(5)]))
    assert lines == ["t-0, t-1, t-2 and 2 more: ListOffsets of broker 2: LOST (a b)"]
