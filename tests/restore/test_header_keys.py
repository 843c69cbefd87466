"""Header keys are restored byte for byte."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.records.buffers import escape
from kafka_lagoon.restore.header_keys import unescape, unescaped
from tests.restore.lake import records


@given(st.binary())
def test_escaping_is_undone(raw: bytes) -> None:
    """Keys are unescaped, including backslashes and bytes that are not UTF-8."""
    assert unescape(escape(raw).encode()) == raw


def test_only_escaped_records_change() -> None:
    r"""The key `\xff` is kept if the record was not escaped."""
    text = [[{"key": "\\xff", "value": b"1"}, {"key": "\\\\", "value": None}]]
    batch = records([3, 4, 6], headers=[*text, *text, []])
    keys = [[one["key"] for one in row] for row in unescaped(batch, [(4, 5)]).column("headers").to_pylist()]
    assert keys == [[b"\\xff", b"\\\\"], [b"\xff", b"\\"], []]
    sliced = unescaped(batch.slice(1), [(4, 5)])
    assert sliced.column("headers").to_pylist()[0][0] == {"key": b"\xff", "value": b"1"}
