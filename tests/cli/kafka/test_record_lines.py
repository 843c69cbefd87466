"""Lines of input as records: given fields are exact, missing fields come from the defaults."""

import base64
import json
from argparse import Namespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.cli.kafka.fetch import _records
from kafka_lagoon.cli.kafka.formatting import FORMATS
from kafka_lagoon.cli.kafka.record_lines import json_parser, text_parser
from kafka_lagoon.cli.output import RowSet
from kafka_lagoon.produce.batching import ProducerRecord

DEFAULTS = ProducerRecord(b"key", None, ((b"h", b"1"),), partition=1, timestamp_ms=7)
BYTES = st.none() | st.binary(max_size=20)


def test_text() -> None:
    """A line is the value; with a separator it has a key, too."""
    assert text_parser(DEFAULTS, None)(b"a:b") == DEFAULTS._replace(value=b"a:b")
    assert text_parser(DEFAULTS, b":")(b"a:b:c") == DEFAULTS._replace(key=b"a", value=b"b:c")
    with pytest.raises(ValueError, match="no key separator ':'"):
        text_parser(DEFAULTS, b":")(b"a")


def field(raw: bytes | None) -> dict[str, str] | None:
    return None if raw is None else {"base64": base64.b64encode(raw).decode()}


@given(
    BYTES,
    BYTES,
    st.lists(st.tuples(st.text(max_size=4), BYTES), max_size=3),
    st.integers(0, 2),
    st.integers(-(2**63), 2**63 - 1),
)
def test_json_says_everything(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]], partition: int, timestamp_ms: int
) -> None:
    """Any record can be written as a line with all fields, and overrides all defaults."""
    line = json.dumps(
        {
            "key": field(key),
            "value": field(value),
            "headers": [{"key": name, "value": field(content)} for name, content in headers],
            "partition": partition,
            "timestamp": timestamp_ms,
        }
    )
    expected = tuple((name.encode(), content) for name, content in headers)
    assert json_parser(DEFAULTS, 3)(line.encode()) == ProducerRecord(key, value, expected, partition, timestamp_ms)


def test_json_says_nothing() -> None:
    """All fields but the value come from the defaults, also if partition and timestamp are null."""
    for line in (b"{}", b'{"partition": null, "timestamp": null}'):
        assert json_parser(DEFAULTS._replace(value=b"v"), 3)(line) == DEFAULTS


TEXTS = BYTES | st.text(max_size=6).map(str.encode) | st.sampled_from([b'{"base64": "YQ=="}', b"1", b"null", b'"'])


@given(
    TEXTS,
    TEXTS,
    st.lists(st.tuples(st.text(max_size=4), TEXTS), max_size=3),
    st.integers(0, 2),
    st.integers(-(2**63), 2**63 - 1),
)
def test_what_fetch_prints_is_taken(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]], partition: int, timestamp_ms: int
) -> None:
    """`fetch --json` into `produce --json` writes the same record, for any record."""
    row = {"key": key, "value": value, "headers": [{"key": name, "value": content} for name, content in headers]}
    row |= {"partition": partition, "timestamp_ms": timestamp_ms, "offset": 5, "timestamp_type": 0}
    row |= dict.fromkeys(("leader_epoch", "producer_id", "producer_epoch", "is_aborted"))
    shown = _records([{**row, "is_transactional": False}], "t", Namespace(format="text", key_format=None))
    (line,) = RowSet(kind="record", rows=shown).json_blocks()
    expected = tuple((name.encode(), content) for name, content in headers)
    assert json_parser(DEFAULTS, 3)(line.encode()) == ProducerRecord(key, value, expected, partition, timestamp_ms)


@pytest.mark.parametrize(
    "value",
    [b'{"a":"\\ud83d"}', b'["\\udc00\\ud800",1]', '{"\u00e4":"\u20ac \\ud800"}'.encode(), '{"a":"😀"}'.encode()],
)
def test_json_of_lone_surrogates(value: bytes) -> None:
    """`fetch --format json --json` parses JSON that was cut within a character; `produce --json` writes it again."""
    parsed = FORMATS["json"][1](value)
    assert isinstance(parsed, dict | list)
    line = json.dumps({"value": parsed}).encode()
    assert json_parser(DEFAULTS, 3)(line).value == value


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"timestamp": true}', "a timestamp is epoch milliseconds or ISO 8601"),
        (b'{"timestamp": -9223372036854775809}', "a timestamp is epoch milliseconds or ISO 8601"),
        (b'{"partition": true}', "a partition is a number"),
        (b'{"partition": -1}', "no partition -1: the topic has 3"),
        (b'{"timestamp": 9223372036854775808}', "a timestamp is epoch milliseconds or ISO 8601"),
        (b'{"timestamp": "yesterday"}', "a timestamp is epoch milliseconds or ISO 8601"),
        (b"[" * 5_000, "values are nested too deeply"),
        (b'{"value": {"p": 1e400}}', "the number 1e400 is not exact as a double"),
        (b'{"value": 1e9999999999999999999}', "the number 1e9999999999999999999 is not exact as a double"),
        (b'{"value": 0.12345678901234567890}', "is not exact as a double"),
        (b'{"value": NaN}', "NaN is not JSON"),
        (b'{"value": 1, "value": 2}', "an object has a field twice"),
        (b'{"timestamp_ms": 5, "timestamp": "2026-01-01"}', "timestamp and timestamp_ms exclude each other"),
        (b'{"timestamp_ms": null, "timestamp": 5}', "timestamp and timestamp_ms exclude each other"),
    ],
)
def test_json_that_is_refused(line: bytes, reason: str) -> None:
    """Refused JSON has a reason."""
    with pytest.raises(ValueError, match=reason):
        json_parser(DEFAULTS, 3)(line)
