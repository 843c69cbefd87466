"""Metrics of a snapshot are the same if the run writes them or the tables are read."""

import io
from pathlib import Path
from typing import Any

import pytest

from kafka_lagoon.cli.main import main
from kafka_lagoon.metrics.exposition import exposition
from kafka_lagoon.metrics.snapshots import snapshot_facts, snapshot_samples
from kafka_lagoon.metrics.tables import window_of_newest
from kafka_lagoon.query.statements import tuples
from kafka_lagoon.tables.cluster_rows import BrokerRow, ConfigRow, PartitionRow
from kafka_lagoon.tables.group_rows import ConsumerGroupRow
from kafka_lagoon.tables.owner_rows import ExpectedGroupRow, OwnerRow
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow
from kafka_lagoon.tables.table_states import table_state
from tests.delta.lake import make_lake
from tests.delta.samples import HOSTILE, NOON_MS, lag_row, row, snapshot
from tests.duckdb_views import ask_of, connected
from tests.metrics.parsed import in_file, parsed, value

pytestmark = pytest.mark.long


def _topic(name: str, retention_ms: int, policy: str = "delete") -> list[ConfigRow]:
    values = {"retention.ms": str(retention_ms), "cleanup.policy": policy}
    return [
        row(ConfigRow, resource_type="topic", resource_name=name, name=config, value=text)
        for config, text in values.items()
    ]


def _facts() -> list[object]:
    """Make groups of every kind, brokers and partitions in an outage, and failures."""
    partition: dict[str, Any] = {"topic": "orders", "replicas": (1, 2)}
    # Nothing was in the log when its ends were read, and then a record came, which is the first unread one.
    deleted: dict[str, Any] = {"log_start_offset": 9, "high_watermark": 9, "first_unread_timestamp_ms": NOON_MS - 5}
    return [
        *_topic("orders", 3_600_000),
        *_topic("compacted", 1, "compact"),
        *(row(ConsumerGroupRow, group_id=name) for name in ("billing", "lost", "empty", HOSTILE, "a\udcff")),
        lag_row(
            "billing", "orders", 0, lag=1500, time_lag_ms=60_500, records_lost=0, first_unread_timestamp_ms=NOON_MS
        ),
        lag_row("billing", "orders", 1, lag=9, time_lag_ms=7, records_lost=0, first_unread_timestamp_ms=NOON_MS - 1),
        lag_row("billing", "compacted", 0, lag=9, time_lag_ms=7, records_lost=0, first_unread_timestamp_ms=5),
        lag_row("billing", "payments", 0, lag_basis="log_start"),
        lag_row("billing", "orders", 2, lag=9, time_lag_ms=7, records_lost=0, **deleted),
        lag_row("lost", "orders", 0, lag=20, time_lag_ms=1, records_lost=3, first_unread_timestamp_ms=NOON_MS),
        lag_row("lost", "orders", 1, problem="LEADER_NOT_AVAILABLE"),
        lag_row("sharing", "orders", 0, group_type="share", lag=4, lag_basis="share", records_lost=0),
        lag_row("sharing", "orders", 1, group_type="share", lag=0, lag_basis="share", records_lost=0),
        lag_row("sharing", "orders", 2, group_type="share", lag_basis="log_start", problem="SHARE_NOT_STARTED"),
        lag_row(HOSTILE, "orders", 0, lag=-2, records_lost=0),
        lag_row("a\udcff", "orders", 0, lag=2**62),
        row(BrokerRow, broker_id=1, is_fenced=True),
        row(BrokerRow, broker_id=2, is_fenced=False),
        row(PartitionRow, **partition, is_under_replicated=True, is_leaderless=False, is_under_min_isr=True),
        row(PartitionRow, **partition, partition=1, is_under_replicated=True, is_leaderless=True),
        row(PartitionRow, **partition, partition=2),
        *(row(CollectionFailureRow, api="Fetch", scope=str(n), error_name="TIMED_OUT") for n in range(2)),
        row(CollectionFailureRow, api="ListGroups", error_name="NOT_COORDINATOR"),
        row(OwnerRow, entity_type="group", name="billing", owner="pay"),
        row(OwnerRow, entity_type="group", name="payments", owner="pay"),
        row(OwnerRow, entity_type="group", name=HOSTILE, owner=HOSTILE),
        *(row(OwnerRow, entity_type="topic", name=name, owner="shop") for name in ("orders", "payments", "billing")),
        row(ExpectedGroupRow, group_id="lost", should_run=False),
        row(ExpectedGroupRow, group_id="billing", should_run=True),
    ]


SHORT = [row(CoverageRow, api="ListGroups", requests=1, visibility=seen) for seen in ("filtered", "complete")]
NEWEST = snapshot(2, *_facts(), *SHORT, status="partial", brokers=2, topics=3, partitions=3, groups=5, failures=3)
REFUSED = table_state("consumer_groups", "failed", 0, "none")
UNKNOWN = (
    row(BrokerRow, broker_id=1),
    row(PartitionRow, topic="orders", replicas=(1,), is_under_replicated=False, is_leaderless=False),
    row(PartitionRow, topic="orders", partition=1, replicas=(1,), is_under_replicated=False, is_under_min_isr=False),
)
PROVEN = (
    row(CoverageRow, api="Metadata", requests=1, visibility="complete"),
    row(CoverageRow, api="ListGroups", requests=1, visibility="complete"),
    row(CoverageRow, api="OffsetFetch", requests=1, visibility="unknown"),
)
OTHER = snapshot(
    1, *_facts()[:10], *UNKNOWN, *PROVEN, status="complete", cluster="second", topics=1, groups=0, tables=(REFUSED,)
)
OLD = snapshot(1, *_facts(), lag_row("gone", "orders", 0, lag=7), status="complete")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make two clusters, one of them with an older snapshot."""
    return make_lake(tmp_path_factory.mktemp("lake"), (OLD, OTHER, NEWEST))


def written_by_runs(limit: int) -> dict[Any, float]:
    samples = [sample for made in (NEWEST, OTHER) for sample in snapshot_samples(snapshot_facts(made), limit, limit)]
    return parsed(exposition(samples))


@pytest.mark.parametrize("limit", [0, 2, 100])
def test_runs_and_tables_agree(lake: Path, capsys: pytest.CaptureFixture[str], limit: int) -> None:
    """Every sample is equal, with any limit of groups and topics; unpublished and older snapshots have none."""
    limits = ("--set", f"metrics.max_groups={limit}", "--set", f"metrics.max_topics={limit}")
    assert main(["metrics", "--warehouse", str(lake), *limits]) == 0
    assert parsed(capsys.readouterr().out) == written_by_runs(limit)


def test_numbers_are_those_of_the_tables(lake: Path) -> None:
    """Separate SQL counts the same numbers."""
    samples = written_by_runs(100)
    with connected(lake, ["lag_now", "loss_ahead"]) as connection:
        rows = connection.sql(
            "SELECT cluster, group_id, sum(lag)::BIGINT, count(*) FROM lag_now GROUP BY ALL HAVING count(lag) > 0"
        ).fetchall()
        ((expiry,),) = connection.sql(
            "SELECT min(epoch_ms(expires_at)) FROM loss_ahead WHERE group_id = 'billing' AND cluster = 'default'"
        ).fetchall()
    assert len(rows) == 6
    for cluster, group, lag, partitions in rows:
        assert value(samples, "lagoon_group_lag", kafka_cluster=cluster, group=group) == lag
        assert value(samples, "lagoon_group_partitions", kafka_cluster=cluster, group=group) == partitions
    assert (
        value(samples, "lagoon_group_expiry_timestamp_seconds", kafka_cluster="default", group="billing")
        == expiry / 1000
    )
    assert value(samples, "lagoon_group_time_lag_seconds", kafka_cluster="default", group="billing") == 60.5
    assert value(samples, "lagoon_group_unknown_lag_partitions", kafka_cluster="default", group="lost") == 1
    assert value(samples, "lagoon_snapshot_failures", kafka_cluster="default", error="TIMED_OUT") == 2
    assert value(samples, "lagoon_snapshot_complete", kafka_cluster="default") == 0
    assert value(samples, "lagoon_snapshot_fenced_brokers", kafka_cluster="default") == 1
    assert value(samples, "lagoon_snapshot_under_replicated_partitions", kafka_cluster="default") == 2
    assert value(samples, "lagoon_snapshot_leaderless_partitions", kafka_cluster="default") == 1


def test_what_is_not_known_has_no_sample() -> None:
    """A chart has a gap and no zero; where a part is known, that part is counted, and the unknown rest beside it."""
    samples = written_by_runs(100)

    def shown(name: str) -> tuple[float | None, float | None]:
        default, second = (
            value(samples, f"lagoon_snapshot_{name}", kafka_cluster=one) for one in ("default", "second")
        )
        return default, second

    assert shown("fenced_brokers") == (1, None)
    assert shown("unknown_fenced_brokers") == (0, 1)
    assert shown("under_min_isr_partitions") == (1, 0)
    assert shown("unknown_min_isr_partitions") == (2, 1)
    assert shown("under_replicated_partitions") == (2, 0)
    assert shown("groups") == (5, None)
    proven = [
        value(samples, "lagoon_snapshot_list_proven", kafka_cluster=one, list="groups") for one in ("default", "second")
    ]
    assert proven == [0, 1]


@pytest.mark.parametrize(
    ("visibility", "shown"),
    [
        ("complete", (0, 0, 0, 0, 1)),
        ("filtered", (None, None, None, None, 0)),
        ("unknown", (None, None, None, None, 0)),
        (None, (None, None, None, None, None)),  # nothing was listed
    ],
)
def test_an_empty_list_that_may_be_hidden_has_no_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], visibility: str | None, shown: tuple[float | None, ...]
) -> None:
    """Brokers show a user without permissions empty lists without an error: 0 is known only of a list that is proven."""
    apis = ("Metadata", "ListGroups") if visibility else ()
    listed = [row(CoverageRow, api=api, requests=1, visibility=visibility) for api in apis]
    taken = snapshot(1, *listed, row(BrokerRow, broker_id=1, is_fenced=False), status="complete", brokers=1)
    samples = parsed(exposition(snapshot_samples(snapshot_facts(taken), 9, 9)))
    names = ("groups", "topics", "partitions", "leaderless_partitions")
    of = {"kafka_cluster": "default"}
    assert (
        *(value(samples, f"lagoon_snapshot_{name}", **of) for name in names),
        value(samples, "lagoon_snapshot_list_proven", **of, list="groups"),
    ) == shown
    assert value(samples, "lagoon_snapshot_brokers", **of) == 1
    assert value(samples, "lagoon_snapshot_fenced_brokers", **of) == 0
    make_lake(tmp_path, (taken,))
    assert main(["metrics", "--warehouse", str(tmp_path)]) == 0
    assert parsed(capsys.readouterr().out) == samples


def test_only_the_newest_snapshots_are_opened(lake: Path) -> None:
    """Nothing is compared with earlier ones: of hourly snapshots of a day that would be 24 times the files."""
    with connected(lake, ["snapshots"]) as connection:
        ask = ask_of(connection)
        spans = window_of_newest(ask)
        newest = tuples(ask("SELECT max(captured_at) FROM snapshots GROUP BY cluster"))
    assert sorted((span.begin, span.end) for span in spans) == sorted((at, at) for (at,) in newest)


def test_owners_and_expectations_have_samples() -> None:
    """Each name that has an owner has one; groups that nobody expects anything of have no value of it."""
    samples, cluster = written_by_runs(2), {"kafka_cluster": "default"}
    assert value(samples, "lagoon_topic_info", **cluster, topic="billing", owner="shop") == 1
    assert value(samples, "lagoon_topic_info", **cluster, topic="orders", owner="shop") == 1
    assert value(samples, "lagoon_topic_info", **cluster, topic="payments", owner="shop") is None
    assert value(samples, "lagoon_snapshot_left_out_topics", **cluster) == 1
    samples = written_by_runs(100)
    assert value(samples, "lagoon_group_info", **cluster, group="billing", owner="pay") == 1
    assert value(samples, "lagoon_group_expected", **cluster, group="lost") == 1
    assert value(samples, "lagoon_group_expected", **cluster, group="billing") == 0
    assert value(samples, "lagoon_group_expected", **cluster, group="empty") is None
    assert not [key for key in samples if "lagoon_group_info" in str(key) and "'lost'" in str(key)]


def test_a_configured_cluster_without_a_snapshot(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has one sample: nothing else is known of it."""
    servers = "bootstrap_servers=localhost:1"
    clusters = ("--set", f"clusters.default.{servers}", "--set", f"clusters.third.{servers}")
    assert main(["metrics", "--warehouse", str(lake), *clusters]) == 0
    samples = parsed(capsys.readouterr().out)
    assert value(samples, "lagoon_snapshot_published", kafka_cluster="third") == 0
    assert value(samples, "lagoon_snapshot_published", kafka_cluster="default") == 1
    assert len(samples) == len(written_by_runs(100)) + 1


def test_only_the_chosen_clusters(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The tables keep a cluster that was switched off, or renamed, for ever; its old snapshot must not alert for ever."""
    arguments = ["metrics", "--warehouse", str(lake), "--set", "clusters.third.bootstrap_servers=localhost:1"]
    assert main([*arguments, "--cluster", "default,third"]) == 0
    samples = parsed(capsys.readouterr().out)
    assert {dict(labels)["kafka_cluster"] for _, labels in samples} == {"default", "third"}
    assert value(samples, "lagoon_snapshot_published", kafka_cluster="third") == 0
    default = {key: one for key, one in written_by_runs(100).items() if ("kafka_cluster", "default") in key[1]}
    assert {key: one for key, one in samples.items() if ("kafka_cluster", "third") not in key[1]} == default
    assert main([*arguments, "--cluster", "third"]) == 0
    assert list(parsed(capsys.readouterr().out).values()) == [0]
    assert main([*arguments, "--cluster", "secnd"]) == 1
    assert "there is no published snapshot of secnd (did you mean second?)" in capsys.readouterr().err


def test_the_folder_of_the_metrics_of_runs(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A collector would find the samples twice there, by the settings or by the files of runs: nothing is written."""
    settings = ("--set", f"metrics.folder={tmp_path}")
    arguments = ["metrics", "--warehouse", str(lake), "--out"]
    assert main([*arguments, str(tmp_path / "lagoon.prom"), *settings]) == 2
    assert "runs write the same metrics to" in capsys.readouterr().err
    assert main([*arguments, str(tmp_path / "lagoon.txt"), *settings]) == 0
    (tmp_path / "lagoon-result-snapshot-other.prom").touch()  # a cluster of other settings
    assert main([*arguments, str(tmp_path / "lagoon.prom")]) == 0
    for name in ("lagoon.prom", "lagoon-result-snapshot-other.prom"):
        (tmp_path / name).unlink()
    of_run = tmp_path / "lagoon-result-snapshot-default.prom"
    of_run.touch()
    assert main([*arguments, str(tmp_path / "lagoon.prom")]) == 2
    assert main([*arguments, str(of_run)]) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == [of_run.name, "lagoon.txt"]


def test_a_file_is_written(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file has the printed text; one line reports a file that cannot be written."""
    arguments = ["metrics", "--warehouse", str(lake), "--out"]
    assert main([*arguments, str(tmp_path / "lagoon.prom")]) == 0
    assert in_file(tmp_path / "lagoon.prom") == written_by_runs(100)
    assert main([*arguments, str(tmp_path / "none" / "lagoon.prom")]) == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"lagoon: --out {tmp_path}/none/lagoon.prom: No such file or directory\n")


def test_what_is_printed_is_utf8_in_every_locale(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The format demands it: a scraper refuses the whole text for a byte that is none."""
    output = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(output, encoding="latin-1"))
    assert main(["metrics", "--warehouse", str(lake)]) == 0
    assert parsed(output.getvalue().decode()) == written_by_runs(100)


def test_a_report_is_a_run(lake: Path, tmp_path: Path) -> None:
    """A report has metrics of its own, without a cluster."""
    settings = ["--warehouse", str(lake), "--set", f"metrics.folder={tmp_path}"]
    assert main(["report", *settings, "--out", str(tmp_path / "page.html")]) in (0, 3)
    assert value(in_file(tmp_path / "lagoon-run-report.prom"), "lagoon_run_exit_code", lagoon_job="report") is not None
