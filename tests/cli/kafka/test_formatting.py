"""Bytes of records as text for people, and as values for JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.cli.kafka.formatting import FORMATS, as_json, as_raw, as_text, base64_object, escaped, text_or_bytes


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain", "plain"),
        ("\u00e4\u20ac".encode(), "\u00e4\u20ac"),
        (b"a\nb\tc\r", "a\\nb\\tc\\r"),
        (b"\x1b[2J\x00", "\\x1b[2J\\x00"),
        ("\u202eright".encode(), "\\u202eright"),
        (b"\xff\xfe", "\\xff\\xfe"),
        (b"back\\slash", "back\\slash"),
    ],
)
def test_text_is_one_line_that_steers_no_terminal(raw: bytes, text: str) -> None:
    """Control characters and direction marks are escaped, and so are bytes that are not UTF-8."""
    assert as_text(raw) == text


@given(st.binary())
def test_no_bytes_break_a_line(raw: bytes) -> None:
    """Each format for people, except `raw`, makes printable text of any bytes."""
    for name, (for_people, _) in FORMATS.items():
        if name != "raw":
            assert for_people(raw).isprintable()


@given(st.binary(), st.binary())
def test_scripts_can_distinguish_all_bytes(first: bytes, second: bytes) -> None:
    """Different records have different values in JSON, in each format but `json`, which parses."""

    def encoded(value: object) -> str:
        return json.dumps(value, default=base64_object)

    for name, (_, for_json) in FORMATS.items():
        if name != "json":
            assert (encoded(for_json(first)) == encoded(for_json(second))) == (first == second)


def test_raw_bytes_come_back() -> None:
    """An output with surrogateescape writes the original bytes."""
    raw = bytes(range(256))
    assert as_raw(raw).encode(errors="surrogateescape") == raw


def test_json_is_parsed_where_it_is_json() -> None:
    """On one line for people; other values are shown as text."""
    assert as_json(b'{"a":\n [1, "\xc3\xa4"]}') == '{"a":[1,"\u00e4"]}'
    assert as_json(b"{") == "{"
    assert FORMATS["json"][1](b'{"a": 1}') == {"a": 1}
    assert FORMATS["json"][1](b"\xff") == b"\xff"


@pytest.mark.parametrize(
    "raw",
    [
        b"null",
        b'"x"',
        b'{"base64":"aGk="}',
        b"NaN",
        b'{"p":1e400}',
        b"1e9999999999999999999",  # no decimal of Python's has this exponent
        b"-1e-9999999999999999999",
        b"0.12345678901234567890",
        b'{"a":1,"a":2}',
    ],
)
def test_json_that_would_be_read_as_something_else(raw: bytes) -> None:
    """It stays text: a tombstone, other bytes or another number would come out of it."""
    assert FORMATS["json"][1](raw) == raw.decode()
    assert json.loads(json.dumps({"value": FORMATS["json"][1](raw)}))["value"] == raw.decode()


@pytest.mark.parametrize(
    "raw",
    [
        b"\0\0\0" + b"5",
        b"5\0\0\0",
        b"\0" + b"5",
        b"5\0",
        '{"a":1}'.encode("utf-16"),
        '{"a":1}'.encode("utf-32-be"),
        b"\xef\xbb\xbf5",
        b'{"a":"\xed\xa0\x80"}',
    ],
)
def test_json_is_utf_8(raw: bytes) -> None:
    """Integers and other bytes that UTF-16 or UTF-32 would read as JSON stay the same bytes, as does a byte order mark."""
    assert FORMATS["json"][1](raw) == text_or_bytes(raw)
    assert as_json(raw) == as_text(raw)


def test_numbers_that_a_double_holds() -> None:
    """They are printed as they are."""
    assert FORMATS["json"][1](b"[0.1, 1.50, 1e3, -0.0, 18446744073709551616]") == [0.1, 1.5, 1000.0, -0.0, 2**64]


def test_text_or_bytes() -> None:
    """In JSON, UTF-8 is a string, and everything else an object {"base64": ...}."""
    assert text_or_bytes(b"a") == "a"
    assert text_or_bytes(b"\xff") == b"\xff"
    assert base64_object(b"\xff") == {"base64": "/w=="}


def test_printable_text_is_not_copied() -> None:
    """The usual case is a single check."""
    text = "plain"
    assert escaped(text) is text


@pytest.mark.parametrize("depth", [100, 900, 980, 100_000])
@pytest.mark.parametrize("form", [b"[", b'{"a":'])
def test_json_that_nests_as_deeply_as_a_record_is_long(depth: int, form: bytes) -> None:
    """JSON that is nested too deeply to be parsed or printed is shown as text, without a traceback."""
    raw = form * depth + b"1" + (b"]" if form == b"[" else b"}") * depth
    assert as_json(raw) == raw.decode()
    for_json = FORMATS["json"][1](raw)
    assert json.loads(json.dumps({"value": for_json}))["value"] == for_json
    assert FORMATS["json"][1](form * depth) == (form * depth).decode()
