"""Rows are stored again if they differ, if the day is another, or if a broker did not answer."""

import pytest

from kafka_lagoon.tables.cluster_rows import ConfigRow, ConfigSynonym
from kafka_lagoon.tables.row_columns import Stored
from kafka_lagoon.tables.security_rows import AclRow, QuotaRow
from kafka_lagoon.tables.table_states import StoredTable, digest_of

DAY_MS = 86_400_000


def config(value: str | None, *synonyms: str) -> ConfigRow:
    """Make a config with values from other sources."""
    return ConfigRow(
        resource_type="topic",
        resource_name="orders",
        name="retention.ms",
        value=value,
        source="TOPIC_CONFIG",
        config_type="LONG",
        is_default=False,
        is_sensitive=False,
        is_read_only=False,
        synonyms=tuple(ConfigSynonym(name="log.retention.ms", value=one, source="DEFAULT_CONFIG") for one in synonyms),
    )


def test_equal_rows_have_equal_digests() -> None:
    """Rows are compared by value, including rows that are kept in columns."""
    first, second = ([config("".join(("1", str(number))), "7")] for number in (2, 2))
    assert digest_of(first, ConfigRow) == digest_of(second, ConfigRow)
    values = {"user": ["a"], "client_id": [None], "ip": [None], "name": ["x"], "value": [1.5]}
    by_column = Stored(QuotaRow, values)
    assert digest_of(by_column, QuotaRow) == digest_of(list(by_column), QuotaRow)


@pytest.mark.parametrize(
    "other",
    [
        [],
        [config("2", "7")],
        [config(None, "7")],
        [config("None", "7")],
        [config("1", "8")],
        [config("1")],
        [config("1", "7", "7")],
        [config("1", "7"), config("1", "7")],
    ],
)
def test_any_difference_changes_the_digest(other: list[ConfigRow]) -> None:
    """Values, nulls, nested values and the number of rows count."""
    assert digest_of(other, ConfigRow) != digest_of([config("1", "7")], ConfigRow)


def test_the_order_of_rows_counts() -> None:
    """The digest depends on the order of rows, which are ordered when they are made."""
    first, second = (
        AclRow(
            resource_type="TOPIC",
            resource_name=name,
            pattern_type="LITERAL",
            principal="User:a",
            host="*",
            operation="READ",
            permission="ALLOW",
        )
        for name in ("a", "b")
    )
    assert digest_of([first, second], AclRow) != digest_of([second, first], AclRow)


def test_a_snapshot_refers_to_rows_of_the_same_day_only() -> None:
    """Tables are partitioned by day: each day is complete, and can be deleted without the others."""
    stored = StoredTable(snapshot_id="s", captured_at_ms=10 * DAY_MS + 1, digest="d")
    assert stored.holds("d", 11 * DAY_MS - 1)
    assert not stored.holds("d", 11 * DAY_MS)
    assert not stored.holds("other", 10 * DAY_MS + 2)
    assert not stored.holds(None, 10 * DAY_MS + 2)


def test_a_snapshot_does_not_refer_to_later_rows() -> None:
    """A clock that was ahead and is set back: a reader of the snapshot opens no rows from after it."""
    stored = StoredTable(snapshot_id="s", captured_at_ms=10 * DAY_MS + 2, digest="d")
    assert stored.holds("d", 10 * DAY_MS + 2)
    assert not stored.holds("d", 10 * DAY_MS + 1)
