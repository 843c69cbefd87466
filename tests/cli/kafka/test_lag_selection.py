"""Options of `lagoon kafka lag`: selection, order, and limits with exit code 3."""

from pathlib import Path

import pytest

from kafka_lagoon.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from kafka_lagoon.protocol.messages.list_offsets import EARLIEST_LOCAL
from tests.cli.kafka.conftest import Ask
from tests.clock import CLOCK
from tests.fake.answers import SPECIAL
from tests.fake.cluster import FakeBatch, FakeCluster, FakeCommit, FakeGroup, FakeMember
from tests.records.examples import Batch, Record

Place = tuple[str, str, int]
READER = [("reader", "orders", number) for number in range(3)]


@pytest.fixture(autouse=True)
def groups(state: FakeCluster) -> None:
    """A group that reads two topics, one that is past the end, one that lost records, and one without partitions."""
    commits = {("orders", 0): FakeCommit(90), ("orders", 1): FakeCommit(40), ("other", 0): FakeCommit(99)}
    members = [FakeMember("m1", ("orders",), {"orders": (0, 1, 2)})]
    state.groups["reader"] = FakeGroup(coordinator_id=2, state="Stable", commits=commits, members=members)
    state.groups["ahead"] = FakeGroup(coordinator_id=1, commits={("other", 0): FakeCommit(103)})
    state.groups["idle"] = FakeGroup(coordinator_id=3)


def places(ask: Ask, *argv: str) -> list[Place]:
    return [(one["group_id"], one["topic"], one["partition"]) for one in ask("lag", "--json", *argv).rows("lag")]


def test_the_order_is_stable_and_can_be_chosen(ask: Ask) -> None:
    """Rows are ordered by name unless --sort is given; unknown lag comes after known lag."""
    assert places(ask) == [("ahead", "other", 0), *READER, ("reader", "other", 0)]
    expected = [READER[1], READER[0], ("reader", "other", 0), ("ahead", "other", 0), READER[2]]
    assert places(ask, "--sort", "lag") == expected
    groups = [one["group_id"] for one in ask("lag", "--json", "--sort", "lag").rows("group")]
    assert groups == ["reader", "ahead", "idle"]


@pytest.mark.parametrize(
    ("argv", "left"),
    [
        (("--topic", "other"), [("ahead", "other", 0), ("reader", "other", 0)]),
        (("--pattern", "a.*|.*z"), [("ahead", "other", 0)]),
        (("reader", "--pattern", "a.*"), []),
        (("--min-lag", "10"), READER[:2]),
        (("reader", "--topic", "orders", "--min-lag", "0"), READER[:2]),
    ],
)
def test_filters(ask: Ask, argv: tuple[str, ...], left: list[Place]) -> None:
    """A row must match all filters; groups without a matching partition are left out, too."""
    assert places(ask, *argv) == left
    groups = {one["group_id"] for one in ask("lag", "--json", *argv).rows("group")}
    assert groups == {group_id for group_id, _, _ in left}


def test_a_pattern_asks_about_no_other_group(state: FakeCluster, ask: Ask) -> None:
    """A group that is refused is no failure of an output that does not include it."""
    state.groups["reader"].error_code = 30
    assert ask("lag").code == 3
    assert ask("lag", "--pattern", "a.*").code == 0


def test_a_topic_that_fails_is_no_failure_of_others(state: FakeCluster, ask: Ask) -> None:
    """--topic selects failures as well."""
    state.topics["orders"].partitions[0].leader_id = -1
    assert ask("lag").code == 3
    assert ask("lag", "--topic", "other").code == 0


def test_sums_are_of_all_partitions_that_names_choose(ask: Ask) -> None:
    """--min-lag leaves out rows, but not their share of a sum; --topic selects partitions of sums."""
    assert [one["lag"] for one in ask("lag", "--json", "--min-lag", "50").rows("group")] == [71]
    assert [one["lag"] for one in ask("lag", "--json", "--topic", "orders").rows("group")] == [70]


@pytest.mark.parametrize(
    ("limits", "lines"),
    [
        ("lag=60,lost", []),
        ("lag=59", ["lag above 59: 1 partition, highest 60 (reader orders-1)"]),
        ("lag=9", ["lag above 9: 2 partitions, highest 60 (reader orders-1)"]),
        ("total=70", ["total above 70: 1 group, highest 71 (reader)"]),
    ],
)
def test_a_passed_limit_is_exit_3(ask: Ask, limits: str, lines: list[str]) -> None:
    """The line names the worst partition. Partitions without a commit have no lag to compare."""
    shown = ask("lag", "--fail-above", limits)
    assert shown.err.splitlines() == [f"lagoon: {line}" for line in lines]
    assert shown.code == (3 if lines else 0)


@pytest.fixture
def sharing(state: FakeCluster) -> None:
    """A share group that has unread records in one partition, and has not read from the others, which have none."""
    stored = tuple(
        DescribeShareGroupOffsetsResponsePartition(
            partition_index=index, start_offset=start, leader_epoch=0, lag=lag, error_code=0
        )
        for index, (start, lag) in enumerate([(90, 5), (-1, -1), (-1, -1)])
    )
    topic = DescribeShareGroupOffsetsResponseTopic(topic_name="orders", topic_id=bytes(16), partitions=stored)
    state.groups["sharing"] = FakeGroup(2, group_type="share", state="Stable", share_topics=(topic,))


@pytest.mark.usefixtures("sharing")
def test_partitions_that_a_share_group_has_not_read(ask: Ask) -> None:
    """They have no lag, as without a commit, and keep every limit; the row says why, and share groups have no age."""
    shown = ask("lag", "sharing", "--json", "--fail-above", "lag=5,total=5,time,lost")
    assert (shown.code, shown.err) == (0, "")
    problems = [(row["partition"], row["lag"], row["problem"]) for row in shown.rows("share")]
    assert problems == [(0, 5, None), (1, None, "SHARE_NOT_STARTED"), (2, None, "SHARE_NOT_STARTED")]
    above = ask("lag", "sharing", "--fail-above", "total=4,time")
    assert (above.code, above.err) == (3, "lagoon: total above 4: 1 group, highest 5 (sharing)\n")


@pytest.mark.usefixtures("sharing")
def test_a_share_group_whose_coordinator_counts_no_lag(state: FakeCluster, ask: Ask) -> None:
    """That lag is unknown, so it passes limits of lag."""
    (topic,) = state.groups["sharing"].share_topics
    topic.partitions[0].lag = -1
    shown = ask("lag", "sharing", "--fail-above", "lag=1000,time,lost")
    assert (shown.code, shown.err) == (3, "lagoon: lag not known of 1 partition, e.g. sharing orders-0\n")


@pytest.mark.usefixtures("sharing")
def test_a_limit_names_the_first_of_equal_rows(state: FakeCluster, ask: Ask) -> None:
    """Rows of share groups come after others, and lines name the first by group, topic and partition."""
    state.groups["zoo"] = FakeGroup(coordinator_id=1, commits={("orders", 0): FakeCommit(95)})
    shown = ask("lag", "--fail-above", "lag=4", "sharing", "zoo")
    assert shown.err.startswith("lagoon: lag above 4: 2 partitions, highest 5 (sharing orders-0)")


def test_groups_that_are_stopped_on_purpose(state: FakeCluster, ask: Ask, tmp_path: Path) -> None:
    """The settings [expected] leave them out of limits on lag, and a line names them; lost records count."""
    conf = tmp_path / "lagoon.toml"
    conf.write_text("[expected.groups]\n'read.*' = \"paused\"\n'new' = \"00:00-24:00\"\n")
    note = "lagoon: 1 group is expected to be stopped and left out of lag, total: reader\n"
    shown = ask("lag", "--conf", str(conf), "--fail-above", "lag=9,total=9")
    assert (shown.code, shown.err) == (0, note)
    assert ask("lag", "--conf", str(conf)).err == ""
    state.topics["orders"].partitions[1].log_start_offset = 43
    lost = ask("lag", "--conf", str(conf), "--fail-above", "lost=2")
    assert (lost.code, lost.err) == (3, "lagoon: lost above 2: 1 partition, highest 3 (reader orders-1)\n")


def test_records_that_were_lost(state: FakeCluster, ask: Ask) -> None:
    """A commit below the log start means lost records, independent of its lag."""
    state.topics["orders"].partitions[1].log_start_offset = 43
    shown = ask("lag", "--json", "--sort", "lost", "--fail-above", "lag=1000,lost=2")
    assert (shown.code, shown.err) == (3, "lagoon: lost above 2: 1 partition, highest 3 (reader orders-1)\n")
    assert shown.rows("lag")[0]["partition"] == 1


def test_what_is_not_known_keeps_no_limit(state: FakeCluster, ask: Ask) -> None:
    """A partition without a leader may have any lag, so its limit counts as passed."""
    state.topics["orders"].partitions[0].leader_id = -1
    shown = ask("lag", "reader", "--fail-above", "lag=1000,total=1000,lost")
    assert shown.code == 3
    unknown = ["lag not known of 1 partition, e.g. reader orders-0", "total not known of 1 group, e.g. reader"]
    assert [line for line in shown.err.splitlines() if "not known" in line] == [
        f"lagoon: {line}" for line in [*unknown, "lost not known of 1 partition, e.g. reader orders-0"]
    ]


@pytest.fixture
def written(state: FakeCluster) -> None:
    """Partition 1 has a record at each group's commit, a minute old; the leader of partition 0 returns none."""
    record = Batch(base_offset=40, records=(Record(delta=0, value=b"v"),), base_time=CLOCK.now_ms() - 60_000)
    state.topics["orders"].partitions[1].append(FakeBatch(40, 40, record.write()))
    state.topics["orders"].partitions[1].high_watermark = 100


@pytest.mark.usefixtures("written")
def test_ages_are_measured_if_somebody_asks(ask: Ask) -> None:
    """--time, an order by age or a limit of age measures ages; otherwise no record is fetched."""
    assert [one["time_lag_method"] for one in ask("lag", "--json").rows("lag")] == [None] * 5
    for argv in (("--time",), ("--sort", "time"), ("--fail-above", "time=1h")):
        rows = ask("lag", "reader", "--topic", "orders", "--json", *argv).rows("lag")
        ages = {one["partition"]: one["time_lag_ms"] for one in rows}
        assert 60_000 <= ages[1] < 120_000


@pytest.mark.usefixtures("written")
def test_tiered_storage_is_not_read(ask: Ask, state: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit below the first offset on the leader's own disks has an unknown age: its record is not fetched."""
    monkeypatch.setitem(SPECIAL, EARLIEST_LOCAL, "high_watermark")
    (row,) = (
        one
        for one in ask("lag", "reader", "--json", "--time").rows("lag")
        if one["topic"] == "orders" and one["partition"] == 1
    )
    assert row["time_lag_problem"] == "IN_TIERED_STORAGE"
    assert not state.fetches


@pytest.mark.usefixtures("written")
def test_an_age_that_is_not_known_may_be_any(ask: Ask) -> None:
    """Unknown ages come first, with the reason, and count as above a limit; groups without a commit come last."""
    shown = ask("lag", "reader", "--topic", "orders", "--json", "--fail-above", "time=30s", "--sort", "time")
    assert [one["partition"] for one in shown.rows("lag")] == [0, 1, 2]
    assert shown.rows("lag")[0]["time_lag_problem"]
    assert shown.code == 3
    assert [line.partition(" (")[0] for line in shown.err.splitlines()[:2]] == [
        "lagoon: time above 30s: 1 partition, highest 1m",
        "lagoon: time not known of 1 partition, e.g. reader orders-0",
    ]
    assert ask("lag", "reader", "--topic", "orders", "--sort", "time").out.splitlines()[-3].split()[3:6] == [
        "10",
        "-",
        "NO_RECORD_RETURNED",
    ]
