"""The codec of a file is chosen by its first records, for each column."""

import base64
import json
import random
from typing import get_args, get_type_hints

import pyarrow as pa
import pytest

from kafka_lagoon.delta.record_codecs import AUTO, CODECS, COMPRESSED, codecs_of
from kafka_lagoon.job_settings import RecordsSettings

DICE = random.Random(11)
NOTHING = b""


def event(size: int) -> bytes:
    """Make JSON with words of a short list."""
    words = [DICE.choice(["order", "shipment", "invoice", "refund"]) for _ in range(size // 8)]
    return json.dumps({"id": DICE.randrange(10**6), "text": " ".join(words)}).encode()


def noise_in_json(size: int) -> bytes:
    """Make JSON of mostly hexadecimal digits."""
    return json.dumps(
        {"id": DICE.randrange(10**6), "sessions": [DICE.randbytes(8).hex() for _ in range(size // 20)]}
    ).encode()


def letters(size: int) -> bytes:
    """Make random letters."""
    return base64.b64encode(DICE.randbytes(size))[:size]


def records(**columns: list[bytes | None]) -> pa.Table:
    """Make a table in two pieces, as files are written."""
    whole = pa.table({name: pa.array(values, pa.binary()) for name, values in columns.items()})
    return pa.concat_tables([whole.slice(0, len(whole) // 2), whole.slice(len(whole) // 2)])


@pytest.mark.parametrize("size", [100, 1_000])
@pytest.mark.parametrize(
    ("make", "chosen"),
    [(event, "snappy"), (noise_in_json, "zstd-fast"), (letters, "zstd"), (DICE.randbytes, "none")],
)
def test_by_what_a_sample_shrinks_to(size: int, make, chosen: str) -> None:
    """Snappy for large savings, zstd-fast for smaller ones, zstd for random letters, none for incompressible data."""
    table = records(value=[make(size) for _ in range(1_000)])
    assert codecs_of(AUTO, table)["value"] == CODECS[chosen]


def test_each_column_by_itself() -> None:
    """Random keys are not compressed beside compressed values; headers have a codec without a sample."""
    chosen = codecs_of(AUTO, records(key=[DICE.randbytes(90) for _ in range(300)], value=[event(200)] * 300))
    assert chosen == {
        "key": CODECS["none"],
        "value": CODECS["snappy"],
        "headers.list.element.key": CODECS["zstd-fast"],
        "headers.list.element.value": CODECS["zstd-fast"],
    }


@pytest.mark.parametrize("values", [[NOTHING], [None, NOTHING], [b"x" * (3 << 20)], [None] * 9 + [b"\0"]])
def test_values_of_any_size(values: list[bytes | None]) -> None:
    """Empty, huge and mostly null values have a codec as well."""
    assert codecs_of(AUTO, records(value=values))["value"] in CODECS.values()


def test_a_sample_sees_the_whole_row_group() -> None:
    """Incompressible values are detected, also if compressible ones come first."""
    table = records(value=[b"x" * 1_000] * 100 + [DICE.randbytes(1_000) for _ in range(900)])
    assert codecs_of(AUTO, table)["value"] != CODECS["snappy"]


def test_what_settings_name() -> None:
    """Every codec of the settings is known, and a named codec is used for all records."""
    names = get_args(get_type_hints(RecordsSettings)["compression"])
    assert set(names) == {AUTO, *CODECS}
    for name, codec in CODECS.items():
        assert codecs_of(name, records(value=[event(100)])) == dict.fromkeys(COMPRESSED, codec)
