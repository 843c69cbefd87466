"""SQL of users: the checks that let only queries through, and conditions of a restore."""

from collections.abc import Iterator
from pathlib import Path

import duckdb

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.query import duckdb_engine
from kafka_lagoon.query.duckdb_statements import refuse_all_but_a_query
from kafka_lagoon.query.statements import mentioned, refuse_writing
from kafka_lagoon.restore import conditions as conditions_module
from tests.proof.fuzz.targets.texts import text

_VIEWS = Path(duckdb_engine.__file__).parent / "views"
_CONNECTION = duckdb_engine._connect()
_WRITES = (
    *(
        "INSERT INTO t VALUES (1)",
        "DELETE FROM t",
        "CREATE TABLE t (a INT)",
        "DROP TABLE t",
        "COPY t TO 'f'",
        "SET threads = 1",
    ),
    *(
        "ATTACH 'f'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "PRAGMA database_list",
        "CALL duckdb_tables()",
        "UPDATE t SET a = 1",
    ),
    *(
        "WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a",
        "EXPLAIN ANALYZE DELETE FROM t",
        "SELECT 1; DROP TABLE t",
    ),
)


def sql(data: bytes) -> None:
    """A statement that is let through is parsed again, and is one query or explains one."""
    statement = text(data)
    mentioned(statement)
    try:
        refuse_writing(statement)
        quoted = duckdb_engine.quoted_offset(statement)
        refuse_all_but_a_query(_CONNECTION, quoted)
    except (ConfigError, duckdb.Error) as error:
        str(error)
        return
    (only,) = _CONNECTION.extract_statements(quoted)
    assert only.type in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN), only.type


def sql_seeds() -> Iterator[bytes]:
    yield from (path.read_bytes() for path in sorted(_VIEWS.glob("*.sql")) if path.stat().st_size < 3_000)
    yield from (statement.encode() for statement in _WRITES)
    yield b'SELECT offset, "offset" FROM records LIMIT 5 OFFSET 3; -- c'
    yield b"/* a */ EXPLAIN (FORMAT json) /* b */ SELECT 1"
    yield b"FROM lag PIVOT (sum(lag) FOR topic IN ('a', 'b')) -- offset"
    yield b"WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT 2 FROM a) SELECT list_filter([1], lambda x: x > 1), (SELECT 1) FROM a"
    yield b"SELECT 1" + b"+1" * 60
    yield b"DESCRIBE SELECT 1"
    yield b"SHOW TABLES"


def conditions(data: bytes) -> None:
    conditions_module.faults_of(text(data))


def conditions_seeds() -> Iterator[bytes]:
    yield from (b"key = 'a'::BLOB AND \"offset\" > 5", b"headers[1].key LIKE 'x%' OR value IS NULL", b"random() < 0.5")
    yield from (
        b"partition IN (SELECT 1)",
        b"timestamp > now() - INTERVAL 1 DAY",
        b"true; DROP TABLE records",
        b"1=1) OR (1=1",
    )
    yield b"1 = 1" + b" OR 1 = 1" * 60
