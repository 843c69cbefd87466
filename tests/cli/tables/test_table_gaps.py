"""Limits on findings and changes whose tables the snapshots lack: exit 3, because nothing shows that they are kept."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kafka_lagoon.cli.tables.changes import _TABLES, ENTITIES
from kafka_lagoon.query.views import VIEWS
from kafka_lagoon.snapshot.collectors import COLLECTORS
from kafka_lagoon.tables.snapshot_rows import CoverageRow, Snapshot
from kafka_lagoon.tables.table_states import table_state
from tests.cli.tables.conftest import Ask, Shown, topics
from tests.delta.lake import make_lake
from tests.delta.samples import row, snapshot
from tests.effort import first

pytestmark = pytest.mark.long

OUTCOMES = {
    "topics": "complete",
    "producers": "skipped",
    "configs": "skipped",
    "acls": "skipped",
    "log_dirs": "failed",
    "reassignments": "partial",
    "quorum": "not_offered",
    "quotas": "complete",
}


def _snapshot(number: int, cluster: str = "default", status: str = "complete") -> Snapshot:
    coverage = [
        row(CoverageRow, api=api, requests=1, answered=1) for api in ("DescribeClientQuotas", "DescribeLogDirs")
    ]
    states = tuple(table_state(name, outcome, 0, "any") for name, outcome in OUTCOMES.items())
    return snapshot(number, *topics(1, (1, 2)), *coverage, cluster=cluster, status=status, topics=1, tables=states)


def _upgraded(number: int, tables: Sequence[str] | None) -> Snapshot:
    """A snapshot of version 0.1.0, which sent DescribeConfigs for min.insync.replicas and has no states, or of a later one."""
    coverage = [row(CoverageRow, api=api, requests=1, answered=1) for api in ("DescribeConfigs", "ApiVersions")]
    states = None if tables is None else tuple(table_state(name, "complete", 0, "any") for name in tables)
    return snapshot(
        number, *topics(1, (1, 2)), *coverage, cluster="upgraded", status="complete", topics=1, tables=states
    )


@pytest.fixture(scope="module")
def gaps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster with two snapshots, both complete, one with an incomplete snapshot, and one with a snapshot of 0.1.0."""
    snapshots = (
        *(_snapshot(1), _snapshot(2), _snapshot(2, "partial", "partial")),
        *(_upgraded(1, None), _upgraded(2, ("topics", "configs", "features"))),
    )
    return make_lake(tmp_path_factory.mktemp("gaps"), snapshots)


@pytest.fixture
def ask(gaps: Path, run: Ask) -> Ask:
    """Run a command over these snapshots."""

    def command(name: str, *argv: str, cluster: str = "default") -> Shown:
        return run(name, *argv, "--cluster", cluster, "--warehouse", str(gaps))

    return command


@pytest.mark.parametrize(
    ("argv", "lines"),
    first([
        (("health", "hanging_transaction"), ["hanging_transaction not known of default: table producers skipped"]),
        (("health", "offline_log_dir"), ["offline_log_dir not known of default: table log_dirs not read"]),
        (("health", "reassignment"), ["reassignment not known of default: table reassignments read in part"]),
        (
            ("health", "critical,warning"),
            [
                "critical not known of default: table log_dirs not read; table producers skipped",
                "warning not known of default: table configs skipped; table reassignments read in part",
            ],
        ),
        (("health", "findings", "--only", "hanging_transaction,config_drift"),
            ["findings not known of default: tables configs, producers skipped"]),
        (("health", "lagging_voter,leaderless,age=1w"), []),
        (("health", "findings", "--only", "leaderless,lagging_voter"), []),
        (("health", "critical", "--topic", "orders"), ["critical not known of default: table producers skipped"]),
        (("changes", "acl,config"), [
            "acl not known of default: table acls skipped",
            "config not known of default: table configs skipped",
        ]),
        (("changes", "log_dir"), ["log_dir not known of default: table log_dirs not read"]),
        (("changes", "topic,quota,voter,truncated,recreated,age=1w"), []),
        (("changes", "changes", "--entity", "topic,quota"), []),
        (("changes", "changes", "--type", "truncated"), []),
        (
            ("changes", "changes", "--topic", "orders"),
            ["changes not known of default: table configs skipped; table reassignments read in part"],
        ),
        (
            ("changes", "topic,quota,removed", "--entity", "topic,quota", "--at", "2025-11-21T13:30"),
            [
                "topic not known of default: table topics in no earlier snapshot",
                "quota not known of default: table quotas in no earlier snapshot",
                "removed not known of default: tables quotas, topics in no earlier snapshot",
            ],
        ),
        (
            ("changes", "topic", "--since", "2025-11-21T12:30"),
            ["topic not known of default: table topics in no earlier snapshot"],
        ),
        (("changes", "topic", "--since", "2025-11-21T13:30"), []),
    ], 6),
)  # fmt: skip
def test_a_limit_that_cannot_be_evaluated(ask: Ask, argv: tuple[str, ...], lines: list[str]) -> None:
    """A line names the tables that were skipped, failed or have no predecessor; what brokers do not offer keeps a limit."""
    command, limits, *options = argv
    shown = ask(command, "--fail-above", limits, *options)
    assert shown.err.splitlines() == [f"lagoon: {line}" for line in lines]
    assert shown.code == (3 if lines else 0)


def test_a_snapshot_of_the_first_version_before(ask: Ask) -> None:
    """The first snapshot after the upgrade has nothing to compare the tables with that were added since."""
    shown = ask("changes", "--fail-above", "config,feature,topic", cluster="upgraded")
    assert shown.err.splitlines() == [
        "lagoon: config not known of upgraded: table configs in no earlier snapshot",
        "lagoon: feature not known of upgraded: table features in no earlier snapshot",
    ]
    assert shown.code == 3


def test_a_snapshot_of_the_first_version(ask: Ask) -> None:
    """It has none of the tables that were added since, though it sent some of their requests."""
    before = ("--at", "2025-11-21T13:30")
    shown = ask("health", "--fail-above", "reassignment,config_drift,leaderless", *before, cluster="upgraded")
    missing = "not collected by version 0.1.0"
    assert shown.err.splitlines() == [
        f"lagoon: reassignment not known of upgraded: table reassignments {missing}",
        f"lagoon: config_drift not known of upgraded: table configs {missing}",
    ]
    assert shown.code == 3
    (looked_for,) = [line for line in shown.out.splitlines() if line.startswith("none; looked for ")]
    assert "leaderless" in looked_for
    assert not {"hanging_transaction", "config_drift", "reassignment"} & set(looked_for.replace(",", "").split())
    assert f"Not known of upgraded: tables configs, log_dirs, producers, quorum, reassignments {missing}\n" in shown.out
    changed = ask("changes", "--fail-above", "acl", *before, cluster="upgraded")
    assert changed.err.splitlines() == [f"lagoon: acl not known of upgraded: table acls {missing}"]
    assert changed.code == 3


def test_an_incomplete_snapshot_has_one_line(ask: Ask) -> None:
    """It keeps no limit at all, so its tables are not named, too."""
    shown = ask("health", "--fail-above", "critical,config_drift", cluster="partial")
    line = "lagoon: partial: the snapshot is INCOMPLETE, so no limit is known to be kept\n"
    assert (shown.code, shown.err) == (3, line)


def test_an_empty_answer_says_what_is_not_known(ask: Ask) -> None:
    """Findings of missing tables were not looked for, without limits too; scripts get no such lines."""
    shown = ask("health")
    (looked_for,) = [line for line in shown.out.splitlines() if line.startswith("none; looked for ")]
    assert not {"hanging_transaction", "config_drift", "offline_log_dir"} & set(looked_for.replace(",", "").split())
    assert {"leaderless", "reassignment", "lagging_voter"} <= set(looked_for.replace(",", "").split())
    tables = "tables configs, producers skipped; table log_dirs not read; table reassignments read in part"
    assert f"\nNot known of default: {tables}\n" in shown.out
    assert shown.code == 0
    assert "looked for nothing\n" in ask("health", "--only", "config_drift").out
    assert "Not known" not in ask("health", "--json").out
    changes = ask("changes", "--entity", "acl,topic")
    assert changes.out.endswith("\nNot known of default: table acls skipped\n")


def test_each_entity_has_its_tables() -> None:
    """They are tables of view table_coverage, and every table that a complete snapshot may lack is among them."""
    sql = next(view for view in VIEWS if view.name == "table_coverage").sql
    assert tuple(_TABLES) == ENTITIES
    tables = {table for of in _TABLES.values() for table in of}
    assert all(f"('{table}', '" in sql for table in tables)
    optional = {collector.name for collector in COLLECTORS if collector.may_be_skipped}
    assert optional - tables == {"api_versions", "transactions", "producers"}
