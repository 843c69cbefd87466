"""Empty lists of groups and topics that brokers may only have hidden: limits on them are not known to be kept."""

from pathlib import Path

import pytest

from kafka_lagoon.tables.snapshot_rows import CoverageRow, Snapshot
from tests.cli.tables.conftest import Ask, Shown, group, topics
from tests.delta.lake import make_lake
from tests.delta.samples import lag_row, row, snapshot


def _listed(api: str, visibility: str) -> CoverageRow:
    return row(CoverageRow, api=api, requests=1, answered=1, expected=1, visibility=visibility)


def _left_out(api: str, visibility: str) -> CoverageRow:
    return row(CoverageRow, api=api, not_collected_because="LEFT_OUT", left_out=1, visibility=visibility)


def _snapshot(cluster: str, *facts: object, **published: int) -> Snapshot:
    return snapshot(1, *facts, cluster=cluster, status="complete", **published)


SNAPSHOTS = (
    _snapshot("groups", *topics(1, (1, 2)), _listed("ListGroups", "filtered"), topics=1, groups=0),
    _snapshot("topics", _listed("Metadata", "unknown"), _listed("ListGroups", "complete"), group("a"), groups=1),
    _snapshot("none", *topics(1, (1, 2)), _listed("ListGroups", "complete"), topics=1, groups=0),
    _snapshot(
        "some",
        *topics(1, (1, 2)),
        _listed("ListGroups", "filtered"),
        group("a"),
        lag_row("a", "orders", 0, lag=1, records_lost=0, time_lag_ms=0),
        topics=1,
        groups=1,
    ),
    _snapshot(
        "chosen",
        *(_listed(api, "complete") for api in ("Metadata", "ListGroups")),
        *(_left_out(api, "complete") for api in ("Metadata", "ListGroups")),
        topics=0,
        groups=0,
    ),
    _snapshot(
        "doubted",
        *topics(1, (1, 2)),
        _listed("ListGroups", "filtered"),
        _left_out("ListGroups", "filtered"),
        topics=1,
        groups=0,
    ),
)


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clusters whose lists are empty, with and without proof, and one with a part of its groups."""
    return make_lake(tmp_path_factory.mktemp("hidden"), SNAPSHOTS)


@pytest.fixture
def ask(hidden: Path, run: Ask) -> Ask:
    """Run a command over one cluster of them."""

    def command(cluster: str, *argv: str) -> Shown:
        return run(*argv, "--cluster", cluster, "--warehouse", str(hidden))

    return command


@pytest.mark.parametrize(
    ("cluster", "table"), [("groups", "consumer_groups"), ("doubted", "consumer_groups"), ("topics", "topics")]
)
def test_a_limit_on_lag_is_not_kept_by_an_empty_list(ask: Ask, cluster: str, table: str) -> None:
    """As if a permission had been taken away: no group, or no topic, and nothing shows that there is none."""
    shown = ask(cluster, "lag", "--fail-above", "lag=10,lost,age=1w")
    line = f"of {cluster}: table {table} empty, or not visible"
    assert shown.err.splitlines() == [f"lagoon: {name} not known {line}" for name in ("lag", "lost")]
    assert shown.code == 3
    without_limit = ask(cluster, "lag")
    assert without_limit.code == 0
    assert without_limit.out.endswith(f"\nNot known {line}\n")
    assert "Not known" not in ask(cluster, "lag", "--json").out


@pytest.mark.parametrize("cluster", ["none", "some", "chosen"])
def test_a_list_that_is_proven_or_not_empty_keeps_limits(ask: Ask, cluster: str) -> None:
    """A cluster without groups has no lag; a user may have been shown a part of them on purpose, or settings leave out all that there are."""
    shown = ask(cluster, "lag", "--fail-above", "lag=10,lost,time=1m")
    assert (shown.code, shown.err) == (0, "")
    assert "Not known" not in shown.out


def test_a_limit_on_findings_is_not_kept_by_an_empty_list(ask: Ask) -> None:
    """Without a topic there is no leaderless partition; nor is a group stopped where no group is shown."""
    shown = ask("topics", "health", "--fail-above", "critical,leaderless,offline_log_dir")
    line = "not known of topics: table topics empty, or not visible"
    assert shown.err.splitlines() == [f"lagoon: {name} {line}" for name in ("critical", "leaderless")]
    assert shown.code == 3
    assert f"\nNot known of topics: {line.rpartition(': ')[2]}\n" in ask("topics", "health").out
    assert ask("groups", "health", "--fail-above", "stopped_group").code == 3
    assert ask("chosen", "health", "--fail-above", "critical,stopped_group").code == 0
    assert ask("groups", "health", "--fail-above", "critical").code == 0


def test_a_limit_on_changes_of_commits_in_a_topic(ask: Ask) -> None:
    """Commits have a topic and a group: with --topic, too, they are not known where the groups are not."""
    shown = ask("groups", "changes", "--fail-above", "group_partition", "--topic", "orders")
    tables = "tables committed_offsets, consumer_groups empty, or not visible"
    assert (shown.code, shown.err) == (3, f"lagoon: group_partition not known of groups: {tables}\n")
