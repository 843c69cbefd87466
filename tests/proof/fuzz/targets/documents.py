"""Files and tables of a desired state; ConfigError is the only refusal."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kafka_lagoon.apply.checks import faults_of
from kafka_lagoon.apply.desired.document import Document
from kafka_lagoon.apply.desired.reading import desired_state, toml_document
from kafka_lagoon.apply.desired.table_document import DesiredRow, table_document
from kafka_lagoon.apply.desired.yaml_document import yaml_document
from kafka_lagoon.apply.diff import diff
from kafka_lagoon.errors import ConfigError
from tests.apply.desired import test_reading as samples
from tests.apply.lives import live

_ROOT = Path(__file__).parents[4]
_NOW_MS = 1_795_000_000_000
_BETWEEN, _NULL = "\x1f", "\x00"


def _read(document: Document) -> None:
    """Read the state, and compare it with a cluster."""
    desired, cluster = desired_state(document, _NOW_MS), live()
    faults_of(desired, cluster)
    diff(desired, cluster)


def desired_toml(data: bytes) -> None:
    with suppress(ConfigError):
        _read(toml_document("state.toml", data.decode(errors="replace")))


def desired_toml_seeds() -> Iterator[bytes]:
    yield (_ROOT / "conf" / "desired-state.toml").read_bytes()
    yield samples.TOML.encode()
    yield (
        b"[topics.a]\n"
        + b".".join([b"x"] * 90)
        + b" = '''a\r\n''' # c\n[[acls]]\n[[acls]]\na = [1, {b = \"\\u0041\"},\n]"
    )


def desired_yaml(data: bytes) -> None:
    with suppress(ConfigError):
        _read(yaml_document("state.yaml", data.decode(errors="replace")))


def desired_yaml_seeds() -> Iterator[bytes]:
    yield samples.YAML.encode()
    yield b"a: &a [1, x]\nb: [*a, *a]\n<<: {c: 1.5e3}\nd: !x y\ne: |\n  t\n? [k]\n: v\nf: 0x1f\n"
    yield b"topics:\n  a: &t {partitions: 3, replication_factor: 2}\n  b:\n    <<: [*t, {configs: {retention.ms: -1}}]\n"
    yield b"%YAML 1.1\n---\n" + b"[" * 120 + b"]" * 120


def desired_table(data: bytes) -> None:
    """A line is a row; a unit separator is between its columns, and a zero byte alone is null."""
    rows = []
    for line in data.decode(errors="replace").split("\n"):
        columns = [None if column == _NULL else column for column in (line + 3 * _BETWEEN).split(_BETWEEN)[:4]]
        rows.append(DesiredRow(*columns))
    with suppress(ConfigError):
        _read(table_document("catalog.schema.desired", rows))


def desired_table_seeds() -> Iterator[bytes]:
    rows = (
        ("topics", "orders", "partitions", "6"),
        ("topics", "orders", "configs.retention.ms", "86400000"),
        ("owns", "topics", _NULL, '["orders-.*"]'),
        ("cluster_id", _NULL, _NULL, "MkU3OEVBNTcwNTJENDM2Qg"),
        ("acls", "1", "principal", "User:a"),
        ("acls", "1", "operations", '["READ"]'),
        ("scram_users", "a", "SCRAM-SHA-256.password", "env:A"),
        ("actions", "2", "action", "elect_leaders"),
        ("topics", "deep", "assignments", "[" * 90 + "]" * 90),
    )
    yield "\n".join(map(_BETWEEN.join, rows)).encode()
    for row in rows:
        yield _BETWEEN.join(row).encode()
