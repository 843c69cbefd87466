import pytest

from kafka_lagoon.apply.desired.reading import desired_state
from kafka_lagoon.apply.desired.state import DesiredState
from kafka_lagoon.apply.desired.table_document import DesiredRow, table_document
from kafka_lagoon.errors import ConfigError

ROWS = [
    DesiredRow("cluster_id", None, None, "abc"),
    DesiredRow("owns", "topics", None, '["orders-.*"]'),
    DesiredRow("topics", "orders", "partitions", "6"),
    DesiredRow("topics", "orders", "configs.retention.ms", "86400000"),
    DesiredRow("broker_configs", "1", "log.cleaner.threads", "2"),
    DesiredRow("acls", "10", "principal", "User:b"),
    DesiredRow("acls", "9", "principal", "User:a"),
    DesiredRow("scram_users", "alice", "SCRAM-SHA-256.iterations", "4096"),
]


def desired_of(*rows: DesiredRow) -> DesiredState:
    return desired_state(table_document("t", [ROWS[0], *rows]), 0)


def test_rows_make_the_same_document_in_any_order() -> None:
    """Lists are in the order of their numbers, configs keep the dots of their names."""
    document = table_document("t", ROWS)
    assert document.data == {
        "cluster_id": "abc",
        "owns": {"topics": ["orders-.*"]},
        "topics": {"orders": {"partitions": 6, "configs": {"retention.ms": 86400000}}},
        "broker_configs": {"1": {"log.cleaner.threads": 2}},
        "acls": [{"principal": "User:a"}, {"principal": "User:b"}],
        "scram_users": {"alice": {"SCRAM-SHA-256": {"iterations": 4096}}},
    }
    assert table_document("t", ROWS[::-1]).data == document.data
    assert document.place(("acls", 1, "principal")) == "t: row acls 10 principal"


def test_faults_of_rows() -> None:
    """All at once: rows that say a thing twice, no section, values within values, broken JSON."""
    rows = [
        *ROWS,
        DesiredRow("topics", "orders", "partitions", "7"),
        DesiredRow(None, "x", None, "1"),
        DesiredRow("topics", "orders", "partitions.more", "1"),
        DesiredRow("owns", "groups", None, "[a"),
    ]
    with pytest.raises(ConfigError) as error:
        table_document("t", rows)
    assert error.value.problems == (
        "t: row x: section and value must not be null",
        't: row owns groups: a value that begins with a bracket must be JSON; a text is in quotes: "[...]"',
        "t: row topics orders partitions: written a second time",
        "t: row topics orders partitions.more: topics.orders.partitions is a value and has values within",
    )


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("-3", -3), ("-0", "-0"), ("+7", "+7"), ("007", "007")])
def test_numbers_are_those_that_are_written_in_no_other_way(text: str, value: object) -> None:
    """A name of such characters stays as it is."""
    document = table_document("t", [DesiredRow("actions", "1", "group", text)])
    assert document.data == {"actions": [{"group": value}]}


def test_names_that_begin_with_a_bracket_are_json_texts() -> None:
    """A name in quotes stays as it is unless a bracket follows; in a list, names are JSON anyway."""
    rows = [
        DesiredRow("actions", "1", "group", '"[eu] billing"'),
        DesiredRow("actions", "2", "group", '"quoted"'),
        DesiredRow("quotas", "1", "client_id", '"{x}"'),
    ]
    assert table_document("t", rows).data == {
        "actions": [{"group": "[eu] billing"}, {"group": '"quoted"'}],
        "quotas": [{"client_id": "{x}"}],
    }


def test_limits_of_quotas_may_be_decimals() -> None:
    """As in files; a name of such characters stays as it is."""
    rows = [
        DesiredRow("quotas", "1", "user", "1.50"),
        DesiredRow("quotas", "1", "request_percentage", "12.50"),
        DesiredRow("quotas", "1", "controller_mutation_rate", "1e-7"),
    ]
    assert table_document("t", rows).data == {
        "quotas": [{"user": "1.50", "request_percentage": 12.5, "controller_mutation_rate": 1e-7}]
    }
    assert desired_of(*rows).quotas == {"user=1.50": {"request_percentage": 12.5, "controller_mutation_rate": 1e-7}}


def test_defaults_of_topics() -> None:
    """The keys of their rows are those of topics."""
    desired = desired_of(
        DesiredRow("defaults", "topics", "partitions", "3"),
        DesiredRow("defaults", "topics", "configs.retention.ms", "5"),
        DesiredRow("topics", "a", "configs.flush.ms", "6"),
    )
    assert desired.topics["a"].partitions == 3
    assert desired.topics["a"].configs == {"retention.ms": "5", "flush.ms": "6"}
    assert desired.document.place(("defaults", "topics", "partitions")) == "t: row defaults topics partitions"


def test_a_name_that_looks_like_a_boolean() -> None:
    """A user, a client or a topic may be called so; the value of a config is the same text."""
    desired = desired_of(
        DesiredRow("quotas", "1", "user", "true"),
        DesiredRow("quotas", "1", "request_percentage", "5"),
        DesiredRow("acls", "1", "principal", "User:a"),
        DesiredRow("acls", "1", "operation", "READ"),
        DesiredRow("acls", "1", "resource_type", "GROUP"),
        DesiredRow("acls", "1", "resource_name", "false"),
        DesiredRow("topics", "a", "configs.preallocate", "true"),
    )
    assert list(desired.quotas) == ["user=true"]
    assert [rule.resource_name for rule in desired.acls] == ["false"]
    assert desired.topics["a"].configs == {"preallocate": "true"}
