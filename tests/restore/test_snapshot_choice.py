"""A restore takes everything from the newest snapshot that has all that it needs, and says so if others are newer."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.restore.archived import ArchivedTopic
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.restore.saved_state import creations
from kafka_lagoon.restore.snapshot_choice import check_snapshot, choose_snapshot, spelled
from tests.restore.lake import wanted
from tests.restore.saved import saved

OLDEST = datetime(2026, 11, 20, 12, 0, 0, 250_000, UTC)
EVERY = {"with_configs": True, "with_acls": True, "with_offsets": True}
RETENTION = {"name": "retention.ms", "value": "7", "source": "TOPIC_CONFIG"}
TABLES = ("topics", "configs", "acls", "committed_offsets", "consumer_groups")


def captured_at(day: int) -> datetime:
    """When the snapshot of a day began."""
    return OLDEST + timedelta(days=day)


@contextmanager
def published(
    days: int,
    *,
    states: Mapping[tuple[int, str], Mapping[str, Any]] | None = None,
    topics: Sequence[tuple[int, str]] | None = None,
    configs: Sequence[tuple[int, str]] | None = None,
    failures: Sequence[Mapping[str, Any]] = (),
    acls: Sequence[Mapping[str, Any]] = (),
    without: Sequence[tuple[int, str]] = (),
) -> Iterator[Ask]:
    """Snapshots `s0`, `s1` and so on of consecutive days, whole except for `states`, each with topics t and u and their configs.

    Tables `without` a state were not asked for.
    """
    number = range(days)
    of = [{"snapshot_id": f"s{day}", "cluster_id": "c", "captured_at": captured_at(day)} for day in number]
    rows = [
        {**of[day], "table_name": table, "outcome": "complete", **(states or {}).get((day, table), {})}
        for day in number
        for table in TABLES
        if (day, table) not in without
    ]
    every = [(day, name) for day in number for name in ("t", "u")]
    shape = {"partitions": 3, "replication_factor": 1, "topic_id": "id"}
    with saved(
        snapshots=[*of, {"snapshot_id": "other", "cluster_id": "another", "captured_at": captured_at(99)}],
        table_coverage=[{key: value for key, value in row.items() if key != "outcome"} for row in rows],
        table_states=[
            {key: row[key] for key in ("snapshot_id", "cluster_id", "captured_at", "table_name", "outcome")}
            for row in rows
            if row["outcome"]
        ],
        topics_published=[{**of[day], **shape, "topic": name} for day, name in (every if topics is None else topics)],
        configs_published=[
            {"snapshot_id": f"s{day}", "resource_type": "topic", "resource_name": name, **RETENTION}
            for day, name in (every if configs is None else configs)
        ],
        collection_failures=failures,
        acls_published=acls,
    ) as ask:
        yield ask


def request(**more: Any) -> RestoreRequest:
    return RestoreRequest(from_cluster="old", to_cluster="new", topics=("t", "u"), **more)


def chosen(ask: Ask, **more: Any) -> tuple[str | None, list[str]]:
    """The chosen snapshot and its notes."""
    snapshot = choose_snapshot(ask, "c", request(**more), ["t", "u"])
    return (snapshot.snapshot_id, list(snapshot.notes)) if snapshot else (None, [])


def test_the_newest_that_is_whole() -> None:
    """Without faults it is the newest, or the newest at a time; without options a cluster may have no snapshot."""
    with published(3) as ask:
        assert chosen(ask, **EVERY) == ("s2", [])
        assert chosen(ask, at_ms=int(captured_at(2).timestamp() * 1000) - 1) == ("s1", [])
        assert chosen(ask, at_ms=0) == (None, [])
        with pytest.raises(
            ConfigError, match=r"^--from-cluster: no snapshot of cluster c is published from before --at$"
        ):
            chosen(ask, at_ms=0, with_acls=True)
    with published(0) as ask, pytest.raises(ConfigError, match=r"no snapshot of cluster c is published$"):
        chosen(ask, with_offsets=True)


FAULTS: list[tuple[str, dict[str, Any], str, str]] = [
    ("configs", {"problem": "SKIPPED", "outcome": "skipped"}, "with_configs", "configs (SKIPPED)"),
    (
        "configs",
        {"problem": "UNSUPPORTED_VERSION", "outcome": "not_offered"},
        "with_configs",
        "configs (UNSUPPORTED_VERSION)",
    ),
    ("configs", {"outcome": "failed"}, "with_configs", "configs (t: some requests failed)"),
    ("configs", {"outcome": None}, "with_configs", "configs (t: version 0.1.0 did not collect them)"),
    ("acls", {"problem": "SKIPPED", "outcome": "skipped"}, "with_acls", "ACLs (SKIPPED)"),
    ("acls", {"problem": "CLUSTER_AUTHORIZATION_FAILED"}, "with_acls", "ACLs (CLUSTER_AUTHORIZATION_FAILED)"),
    ("committed_offsets", {"problem": "NO_ANSWER"}, "with_offsets", "committed offsets (NO_ANSWER)"),
    ("committed_offsets", {"outcome": "partial"}, "with_offsets", "committed offsets (COORDINATOR_NOT_AVAILABLE)"),
    ("topics", {"problem": "NO_ANSWER", "outcome": "failed"}, "with_configs", "topics (u: NO_ANSWER)"),
    ("topics", {"visibility": "chosen"}, "with_configs", "topics (u: settings leave topics out)"),
    ("topics", {"outcome": "partial"}, "with_configs", "topics (u: some requests failed)"),
]
UNREAD = {"api": "OffsetFetch", "error_name": "COORDINATOR_NOT_AVAILABLE", "scope_type": "group", "scope": "group g"}


@pytest.mark.parametrize(("table", "state", "option", "lacks"), FAULTS, ids=[lacks for *_, lacks in FAULTS])
def test_a_newer_snapshot_lacks_something(table: str, state: dict[str, Any], option: str, lacks: str) -> None:
    """An older one is used and it is said why; without it the fault is named; what no option needs does not matter."""
    topics = [(0, "t"), (0, "u"), (1, "t")]
    configs = [(0, "t"), (0, "u"), (1, "u")]
    failures = [{**UNREAD, "snapshot_id": "s1"}]
    with published(2, states={(1, table): state}, topics=topics, configs=configs, failures=failures) as ask:
        note = f"snapshot s0 of 2026-11-20T12:00:01+00:00 is used: the newest, s1, lacks {lacks}"
        assert chosen(ask, **{option: True}) == ("s0", [note])
        if table != "topics":
            assert chosen(ask) == ("s1", [])
    with published(2, states={(0, table): state, (1, table): state}, configs=[], topics=[(1, "t"), (0, "t")]) as ask:
        if table == "committed_offsets" and "problem" not in state:
            return  # without the failure its rows are whole
        with pytest.raises(ConfigError) as raised:
            chosen(ask, **{option: True})
        assert raised.value.problems == (
            f"--from-cluster: no snapshot of cluster c has everything that the restore needs; the newest lacks {lacks}",
        )


def test_the_note_is_about_the_newest() -> None:
    """Snapshots between the newest and the one that is used may lack other things, which would be new to nobody."""
    states = {(1, "acls"): {"problem": "CLUSTER_AUTHORIZATION_FAILED"}, (2, "acls"): {"problem": "SKIPPED"}}
    note = "snapshot s0 of 2026-11-20T12:00:01+00:00 is used: the newest, s2, lacks ACLs (SKIPPED)"
    with published(3, states=states) as ask:
        assert chosen(ask, with_acls=True) == ("s0", [note])


@pytest.mark.parametrize(
    ("options", "table", "failure"),
    [
        ({"with_configs": True}, "configs", {"api": "DescribeConfigs", "scope_type": "topic", "scope": "topic v"}),
        ({"with_offsets": True}, "committed_offsets", {"api": "DescribeConfigs"}),
        ({"with_offsets": True}, "committed_offsets", {"scope_type": "group_partition"}),
        ({"with_configs": True}, "committed_offsets", {}),
    ],
)
def test_failures_of_an_older_snapshot_that_do_not_matter(
    options: dict[str, Any], table: str, failure: dict[str, Any]
) -> None:
    """Where the newest lacks something, the one before it is used although requests about something else failed."""
    states = {(1, table): {"outcome": "partial"}, (2, "acls"): {"problem": "SKIPPED"}}
    with published(3, states=states, failures=[{**UNREAD, **failure, "snapshot_id": "s1"}]) as ask:
        snapshot, notes = chosen(ask, with_acls=True, **options)
    assert snapshot == "s1"
    assert notes[0] == "snapshot s1 of 2026-11-21T12:00:01+00:00 is used: the newest, s2, lacks ACLs (SKIPPED)"


def test_topics_that_a_partial_snapshot_has() -> None:
    """A snapshot that does not list every topic will do if it has those that are restored, with their configs."""
    partial = {(0, "topics"): {"visibility": "chosen", "outcome": "partial"}, (0, "configs"): {"outcome": "partial"}}
    with published(1, states=partial) as ask:
        assert chosen(ask, with_configs=True) == ("s0", [])
    gone = {(0, "topics"): {"problem": "NO_ANSWER", "outcome": "failed"}}
    with published(1, states=gone, topics=[]) as ask:
        assert chosen(ask) == (None, [])


def test_snapshots_that_lack_rows_are_found_by_one_statement() -> None:
    """Settings that leave a topic out do so in each of tens of thousands of snapshots; so does a broker that is down for days."""
    days = 12
    late = range(1, days)
    faults: list[tuple[dict[str, Any], str]] = [
        (
            {
                "states": {(day, "topics"): {"visibility": "chosen"} for day in late},
                "topics": [(0, "t"), *((day, "u") for day in range(days))],
            },
            "topics (t: settings leave topics out)",
        ),
        (
            {
                "states": {(day, "configs"): {"outcome": "partial"} for day in late},
                "configs": [(0, "t"), *((day, "u") for day in range(days))],
            },
            "configs (t: some requests failed)",
        ),
        (
            {
                "states": {(day, "committed_offsets"): {"outcome": "partial"} for day in late},
                "failures": [{**UNREAD, "snapshot_id": f"s{day}"} for day in late],
            },
            "committed offsets (COORDINATOR_NOT_AVAILABLE)",
        ),
    ]
    for rows, lacks in faults:
        statements = list[str]()
        with published(days, **rows) as ask:

            def counted(statement: str, *values: Any, ask: Ask = ask, statements: list[str] = statements) -> Any:
                statements.append(statement)
                return ask(statement, *values)

            snapshot = choose_snapshot(counted, "c", request(with_configs=True, with_offsets=True), ["t"])
        assert snapshot is not None
        used = f"snapshot s0 of {spelled(captured_at(0))} is used"
        assert (snapshot.snapshot_id, list(snapshot.notes)) == ("s0", [f"{used}: the newest, s11, lacks {lacks}"])
        assert len(statements) < days


def test_what_a_snapshot_never_has_is_said() -> None:
    """A cluster without an authorizer has no ACLs; groups that settings leave out or that may not be read are named."""
    states = {
        (1, "acls"): {"problem": "SECURITY_DISABLED", "outcome": "not_offered"},
        (1, "committed_offsets"): {"outcome": "partial"},
        (1, "consumer_groups"): {"visibility": "chosen"},
    }
    failures = [
        {**UNREAD, "snapshot_id": "s1", "error_name": "GROUP_AUTHORIZATION_FAILED"},
        {**UNREAD, "snapshot_id": "s1", "error_name": "UNSTABLE_OFFSET_COMMIT", "scope_type": "group_partition"},
        {**UNREAD, "snapshot_id": "s0"},
    ]
    with published(2, states=states, failures=failures) as ask:
        snapshot = "snapshot s1 of 2026-11-21T12:00:01+00:00"
        assert chosen(ask, **EVERY) == (
            "s1",
            [
                f"{snapshot} has no offsets of group g: GROUP_AUTHORIZATION_FAILED",
                f"{snapshot} has offsets of some groups only: settings leave others out (--at TIME chooses another)",
            ],
        )
        assert chosen(ask, with_acls=True) == ("s1", [])


def test_snapshots_of_the_first_version() -> None:
    """They do not say how tables ended: the coverage decides. They have no configs, although brokers were asked for some."""
    first: dict[tuple[int, str], Mapping[str, Any]] = {(0, table): {"outcome": None} for table in TABLES}
    with published(1, states=first) as ask:
        assert chosen(ask, **EVERY) == ("s0", [])
    del first[0, "configs"]
    with published(1, states=first, configs=[], without=[(0, "configs")]) as ask:
        assert chosen(ask, with_acls=True, with_offsets=True) == ("s0", [])
        with pytest.raises(ConfigError, match=r"lacks configs \(t: version 0\.1\.0 did not collect them\)$"):
            chosen(ask, with_configs=True)


def test_the_snapshot_of_a_restore_that_goes_on() -> None:
    """It must still be published, have what is needed now, and be the one that --at chooses; each fault names the cure."""

    def fault(ask: Ask, snapshot_id: str | None, **more: Any) -> str:
        with pytest.raises(ConfigError) as raised:
            check_snapshot(ask, "c", snapshot_id, request(**more), ["t", "u"])
        return str(raised.value)

    new = "--new starts the restore again with another snapshot"
    with published(1, states={(0, "topics"): {"problem": "NO_ANSWER"}}, topics=[]) as ask:
        assert list(check_snapshot(ask, "c", "s0", request(with_offsets=True), ["t", "u"])) == []
    with published(2, states={(0, "acls"): {"problem": "SKIPPED"}}) as ask:
        assert list(check_snapshot(ask, "c", "s0", request(with_offsets=True), ["t", "u"])) == []
        assert list(check_snapshot(ask, "c", None, request(), ["t", "u"])) == []
        assert list(check_snapshot(ask, "c", "gone", request(with_configs=True), ["t", "u"])) == []
        first, second = "snapshot s0 of 2026-11-20T12:00:01+00:00", "snapshot s1 of 2026-11-21T12:00:01+00:00"
        assert (
            fault(ask, "s0", with_acls=True)
            == f"{first}, from which the restore was planned, lacks ACLs (SKIPPED): leave the option out, or {new}"
        )
        assert fault(ask, "gone", with_offsets=True) == (
            f"snapshot gone, from which the restore was planned, is not published any more: {new}"
        )
        assert (
            fault(ask, None, with_offsets=True)
            == f"the restore was begun when no snapshot had what it needs: leave the option out, or {new}"
        )
        early, late = (int(captured_at(day).timestamp() * 1000) for day in (0, 1))
        assert list(check_snapshot(ask, "c", "s0", request(at_ms=early), ["t", "u"])) == []
        assert fault(ask, "s0", at_ms=late) == (
            f"--at: the restore was planned from {first}, and --at chooses {second}: leave --at out, or {new}"
        )


def test_the_time_of_a_snapshot_in_messages() -> None:
    """It is in UTC whatever the zone of the session, and chooses the snapshot as `--at` does: not before it."""
    in_nepal = datetime(2026, 11, 20, 17, 45, 0, 1, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    assert spelled(in_nepal) == "2026-11-20T12:00:01+00:00"


def test_a_topic_that_the_snapshot_lacks() -> None:
    """It was deleted before: with configs the snapshot that still has it is named, in the words of --at."""
    topics = [
        ArchivedTopic(
            cluster_id="c", topic=name, topic_id="id", other_ids=[], partitions={}, records={}, codecs=frozenset()
        )
        for name in ("t", "u")
    ]
    with published(3, topics=[(0, "t"), (1, "t"), (0, "u"), (1, "u"), (2, "u")]) as ask:
        snapshot = choose_snapshot(ask, "c", request(with_configs=True), ["t", "u"])
        assert snapshot is not None
        with pytest.raises(ConfigError) as raised:
            creations(ask, snapshot, request(with_configs=True), topics, 3)
        assert str(raised.value) == (
            "--with-configs: snapshot s2 of 2026-11-22T12:00:01+00:00 does not have topic t: "
            "--at 2026-11-21T12:00:01+00:00 chooses the last that has it"
        )
        made = creations(ask, snapshot, request(), topics, 3)
        assert [action.resource.name for action in made.actions] == ["u", "t"]
        assert made.notes[-1].startswith(
            "topic t: snapshot s2 of 2026-11-22T12:00:01+00:00 does not have it, so t gets"
        )
    with published(1, topics=[]) as ask:
        snapshot = choose_snapshot(ask, "c", request(with_configs=True), ["t", "u"])
        with pytest.raises(ConfigError, match="no snapshot of the source has topic t\n"):
            creations(ask, snapshot, request(with_configs=True), topics, 3)


def test_a_topic_that_grew_after_the_snapshot() -> None:
    """The new topic has as many partitions as have archived records, and a note says so."""
    topics = [
        ArchivedTopic(
            cluster_id="c",
            topic=name,
            topic_id="id",
            other_ids=[],
            partitions={number: wanted(0, 9, partition=number) for number in numbers},
            records={},
            codecs=frozenset(),
        )
        for name, numbers in (("t", (0, 4)), ("u", (0, 1)))
    ]
    with published(1) as ask:
        snapshot = choose_snapshot(ask, "c", request(), ["t", "u"])
        made = creations(ask, snapshot, request(renames={"t": "copy"}, with_configs=True), topics, 3)
    shapes = {action.resource.name: action.after or {} for action in made.actions}
    assert {name: shape["partitions"] for name, shape in shapes.items()} == {"copy": 5, "u": 3}
    assert shapes["copy"]["configs"] == {"retention.ms": "7"}
    assert made.notes == ["topic t: it had 3 partitions in the snapshot, and partition 4 is archived, so copy gets 5"]
