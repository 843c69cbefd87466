"""Similar failures are one row with their number; a row of coverage says why an API returned nothing."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.errors import UnsupportedVersion
from kafka_lagoon.protocol.messages.describe_user_scram_credentials import DESCRIBE_USER_SCRAM_CREDENTIALS
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.protocol.messages.metadata import MetadataResponse
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from kafka_lagoon.snapshot.coverage import coverage_rows, failure_rows, not_offered, partly_offered, worth_a_row
from kafka_lagoon.snapshot.topology import TOPIC_DELETED, Topology
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow

UNKNOWN_TOPIC, REFUSED, UNSUPPORTED_VERSION, SECURITY_DISABLED = 3, 29, 35, 54


def failed(scope: Scope, code: int = REFUSED, node_id: int | None = 1, **values: Any) -> Failure:
    return failure_of(LIST_OFFSETS, scope, code, node_id=node_id, **values)


@pytest.mark.parametrize(
    ("scope", "text", "columns"),
    [
        (Scope.cluster(), "cluster", {}),
        (Scope.broker(1), "broker 1", {}),
        (Scope.of_topic("t"), "topic t", {"topic": "t"}),
        (Scope.topics(200), "200 topics", {"items": 200}),
        (Scope.of_partition("t", 0), "t-0", {"topic": "t", "partition": 0}),
        (Scope.group("g"), "group g", {"group_id": "g"}),
        (Scope.group_partition("g", "t", 2), "group g, t-2", {"group_id": "g", "topic": "t", "partition": 2}),
        (Scope.transaction("x"), "transaction x", {"transactional_id": "x"}),
        (Scope.of_log_dir(1, "/d"), "broker 1, /d", {"log_dir": "/d"}),
        (Scope.list("all topics"), "all topics", {}),
    ],
)
def test_each_scope_fills_its_columns(scope: Scope, text: str, columns: dict[str, Any]) -> None:
    """Queries select failures by columns, people read the text. Columns without meaning for a scope are null."""
    (row,) = failure_rows([failed(scope)])
    assert (row.scope_type, row.scope, row.broker_id) == (str(scope.scope_type), text, 1)
    names = ("topic", "partition", "group_id", "member_id", "transactional_id", "log_dir", "items")
    assert {name: getattr(row, name) for name in names} == {**dict.fromkeys(names), "items": 1, **columns}


def test_failures_alike_are_one_row() -> None:
    """Equal values are kept, different values are null, and the row has the number of failures, two offsets of each partition."""
    twice = (1, 2, 1, 2, 3, 3, 4, 4, 5, 5)
    (row,) = failure_rows(failed(Scope.of_partition("t", number), attempts=number) for number in twice)
    assert (row.topic, row.partition, row.items, row.attempts) == ("t", None, 10, 5)
    assert row.scope == "t-1, t-2, t-3 and 2 more"
    (row,) = failure_rows(failed(Scope.of_partition("t", number)) for number in (1, 2, 3))
    assert row.scope == "t-1, t-2, t-3"


def test_failures_of_different_kinds_are_rows_of_their_own() -> None:
    """Failures of different brokers, types of scope and errors have rows of their own."""
    group, partition = Scope.group("t-0"), Scope.of_partition("t", 0)
    rows = list(
        failure_rows([failed(partition), failed(group), failed(partition, UNKNOWN_TOPIC), failed(partition, node_id=2)])
    )
    assert len(rows) == 4
    assert {row.items for row in rows} == {1}


def test_the_broker_that_a_request_is_about() -> None:
    """If no request could be sent, the row has the broker that the request was about."""
    (row,) = failure_rows([failed(Scope.broker(7), node_id=None)])
    assert row.broker_id == 7
    (row,) = failure_rows([failed(Scope.broker(7), node_id=None), failed(Scope.broker(8), node_id=None)])
    assert (row.broker_id, row.scope, row.items) == (None, "broker 7, broker 8", 2)


def test_reasons_stand_beside_what_was_not_asked() -> None:
    """An API that was requested in some version does not count as unsupported; an API without requests has a row."""
    stats = RequestStats()
    stats.sent((LIST_OFFSETS.name, 1), 5, 10)
    failures = [
        failure_of(api, scope, UnsupportedVersion(api.name, (9, 9), (0, 5), "1", None))
        for api, scope in ((LIST_OFFSETS, Scope.of_partition("t", 0)), (OFFSET_FETCH, Scope.group("g")))
    ]
    rows = {row.api: row for row in coverage_rows(stats, {}, not_offered(failures), {"acls": ["DescribeAcls"]})}
    assert rows["ListOffsets"].not_collected_because is None
    assert (rows["OffsetFetch"].not_collected_because, rows["OffsetFetch"].requests) == ("UNSUPPORTED_VERSION", 0)
    assert (rows["DescribeAcls"].not_collected_because, rows["DescribeAcls"].skipped_table) == ("SKIPPED", "acls")


def test_reasons_of_all_brokers_and_of_one() -> None:
    """An API that nobody was asked for may have both; the row of all brokers comes first."""
    disabled = failure_of(DESCRIBE_USER_SCRAM_CREDENTIALS, Scope.list("users"), SECURITY_DISABLED)
    several = [replace(disabled, node_id=2), replace(disabled, node_id=1), disabled]
    rows = coverage_rows(RequestStats(), {}, not_offered(several), {})
    assert [(row.broker_id, row.not_collected_because) for row in rows] == [
        (broker_id, "SECURITY_DISABLED") for broker_id in (None, 1, 2)
    ]


def test_lists_that_settings_shorten() -> None:
    """A list has a row if something was left out of it."""
    (row,) = coverage_rows(RequestStats(), {}, {}, {}, {"ListGroups": 3, "Metadata": 0})
    assert (row.api, row.left_out, row.not_collected_because) == ("ListGroups", 3, "LEFT_OUT")


def test_items_are_counted_and_else_answers() -> None:
    """Requests of an API without items are its items, so that one without an answer has failed; connections have none."""
    stats = RequestStats()
    for key in ((LIST_OFFSETS.name, 1), (OFFSET_FETCH.name, 1), ("ApiVersions", 1)):
        for _ in range(3):
            stats.sent(key, 5, 10)
        stats.answered(key, 100, 1.0, 1.5, 0)
    stats.item_counts[LIST_OFFSETS.name, 1].answered, stats.item_counts[LIST_OFFSETS.name, 1].failed = 7, 2
    stats.item_counts[LIST_OFFSETS.name, 2].failed = 4  # no request reached this broker
    rows = [
        (row.api, row.broker_id, row.expected, row.answered, row.failed) for row in coverage_rows(stats, {}, {}, {})
    ]
    assert rows == [
        ("ApiVersions", 1, 0, 0, 0),
        ("ListOffsets", 1, 9, 7, 2),
        ("ListOffsets", 2, 4, 0, 4),
        ("OffsetFetch", 1, 3, 1, 2),
    ]


def test_a_reason_of_one_broker() -> None:
    """It stands in the row of that broker, which it has alone if it got no request; one of no broker stands in all rows."""
    stats = RequestStats()
    stats.sent((LIST_OFFSETS.name, 1), 5, 10)
    refused = failed(Scope.cluster(), SECURITY_DISABLED)
    for reasons, expected in (
        ({(LIST_OFFSETS.name, 2): refused}, [(1, None), (2, "SECURITY_DISABLED")]),
        ({(LIST_OFFSETS.name, None): refused}, [(1, "SECURITY_DISABLED")]),
    ):
        rows = coverage_rows(stats, {LIST_OFFSETS.name: "complete"}, reasons, {})
        assert [(row.broker_id, row.not_collected_because) for row in rows] == expected


def test_partitions_of_topics_that_were_deleted_meanwhile() -> None:
    """Their failures have no row, but those of other topics, and of a topic as a whole, have."""
    topology = Topology(metadata=MetadataResponse(), topic_ids={}, partitions={}, changed={"gone": TOPIC_DELETED})
    gone, other, whole = (
        failed(scope, UNKNOWN_TOPIC)
        for scope in (Scope.of_partition("gone", 0), Scope.of_partition("t", 0), Scope.of_topic("gone"))
    )
    assert list(worth_a_row([gone, other, whole], topology, RequestStats())) == [other, whole]


def test_messages_that_differ_are_rows_of_their_own() -> None:
    """A row has the message of all its failures, the longest time and the most attempts."""
    partition = Scope.of_partition("t", 0)
    given = ({"attempts": 3, "elapsed_ms": 5}, {"attempts": 1, "elapsed_ms": 9}, {"message": "why"})
    made = [Failure(**{**_fields(failed(partition)), **values}) for values in given]
    assert [(row.message, row.items, row.attempts, row.elapsed_ms) for row in failure_rows(made)] == [
        (made[0].message, 2, 3, 9),
        ("why", 1, made[2].attempts, made[2].elapsed_ms),
    ]


def test_an_api_that_is_offered_must_be_answered() -> None:
    """UNSUPPORTED_VERSION from a broker is a failure: it offers the version, or there would have been no request."""
    answered = failure_of(DESCRIBE_USER_SCRAM_CREDENTIALS, Scope.list("users"), UNSUPPORTED_VERSION)
    too_old = failure_of(OFFSET_FETCH, Scope.group("g"), UnsupportedVersion("OffsetFetch", (9, 9), (0, 5), "1", None))
    disabled = failure_of(DESCRIBE_USER_SCRAM_CREDENTIALS, Scope.list("users"), SECURITY_DISABLED)
    several = [answered, too_old, disabled]
    topology = Topology(metadata=MetadataResponse(), topic_ids={}, partitions={})
    assert list(worth_a_row(several, topology, RequestStats())) == [answered]
    assert set(not_offered(several).values()) == {too_old, disabled}
    assert not_offered([answered]) == {}


@pytest.mark.parametrize(
    ("answered", "failed", "expected"),
    [({2}, 1, True), (set(), 1, False), ({1, 2}, 1, False), ({2}, None, False), ({None}, 1, False)],
    ids=["by others", "by none", "in another version", "no broker was asked", "by a bootstrap server"],
)
def test_an_api_that_only_some_brokers_offer(answered: set[int | None], failed: int | None, *, expected: bool) -> None:
    """A broker without an API that another broker answered has failed, and a cluster without the API has not."""
    stats = RequestStats()
    for node_id in answered:
        stats.by_api[OFFSET_FETCH.name, node_id].answers += 1
    error = UnsupportedVersion("OffsetFetch", (9, 9), (0, 5), "1", None)
    too_old = failure_of(OFFSET_FETCH, Scope.group("g"), error, node_id=failed)
    topology = Topology(metadata=MetadataResponse(), topic_ids={}, partitions={})
    assert (
        list(partly_offered([too_old], stats)) == list(worth_a_row([too_old], topology, stats)) == [too_old] * expected
    )
    required = replace(too_old, is_required=True)
    assert list(worth_a_row([required], topology, stats)) == [required]


def test_a_broker_that_never_answered_does_not_offer_the_api() -> None:
    """A request to it was sent, and nothing shows that the broker has what the other one lacks."""
    stats = RequestStats()
    stats.sent((OFFSET_FETCH.name, 2), 5, 10)
    error = UnsupportedVersion("OffsetFetch", (9, 9), (0, 5), "1", None)
    too_old = failure_of(OFFSET_FETCH, Scope.group("g"), error, node_id=1)
    assert not list(partly_offered([too_old], stats))


def test_long_messages_are_cut() -> None:
    """A long message of a broker is cut."""
    (row,) = failure_rows([Failure(**{**_fields(failed(Scope.cluster())), "message": "x" * 5_000})])
    assert isinstance(row, CollectionFailureRow)
    assert len(row.message or "") == 1024


def _fields(failure: Failure) -> dict[str, Any]:
    return {name: getattr(failure, name) for name in Failure.__slots__}
