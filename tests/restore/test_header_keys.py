"""Header keys are restored byte for byte."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.records.buffers import escape
from kafka_lagoon.restore.header_keys import in_order, unescape, unescaped
from tests.restore.lake import records


@given(st.binary())
def test_escaping_is_undone(raw: bytes) -> None:
    """Keys are unescaped, including backslashes and bytes that are not UTF-8."""
    assert unescape(escape(raw).encode()) == raw


def test_each_batch_looks_for_its_own_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch was compared with all escaped records of its partition: 100,000 of them and 10,000 batches took an hour."""
    searched, search = list[object](), np.searchsorted

    def counted(*given: Any) -> Any:
        searched.append(given)
        return search(*given)

    escaped = in_order([(9, 9), *((number, number) for number in range(0, 400, 10)), (4, 5), (5, 5), (6, 7)])
    assert escaped[:3] == [(0, 0), (4, 7), (9, 10)]
    monkeypatch.setattr(np, "searchsorted", counted)
    changed = 0
    for start in range(0, 400, 10):
        batch = records(range(start, start + 10), headers=[[{"key": "\\xff", "value": None}]] * 10)
        keys = [row[0]["key"] for row in unescaped(batch, escaped).column("headers").to_pylist()]
        changed += keys.count(b"\xff")
    assert (changed, len(searched)) == (40 + 5, len(escaped) + 1)


def test_a_record_between_escaped_records_is_not_escaped() -> None:
    r"""Its key `\xff` is four characters; ranges are joined only where no offset is between them."""
    escaped = in_order([(8, 8), (4, 5), (1, 2)])
    assert escaped == [(1, 2), (4, 5), (8, 8)]
    batch = records(range(1, 9), headers=[[{"key": "\\xff", "value": None}]] * 8)
    keys = [row[0]["key"] for row in unescaped(batch, escaped).column("headers").to_pylist()]
    assert [offset for offset, key in enumerate(keys, 1) if key == b"\xff"] == [1, 2, 4, 5, 8]


def test_only_escaped_records_change() -> None:
    r"""The key `\xff` is kept if the record was not escaped."""
    text = [[{"key": "\\xff", "value": b"1"}, {"key": "\\\\", "value": None}]]
    batch = records([3, 4, 6], headers=[*text, *text, []])
    keys = [[one["key"] for one in row] for row in unescaped(batch, [(4, 5)]).column("headers").to_pylist()]
    assert keys == [[b"\\xff", b"\\\\"], [b"\xff", b"\\"], []]
    sliced = unescaped(batch.slice(1), [(4, 5)])
    assert sliced.column("headers").to_pylist()[0][0] == {"key": b"\xff", "value": b"1"}
