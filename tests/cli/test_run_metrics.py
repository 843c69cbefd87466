"""A run writes its metrics also if it fails, and the metrics of the newest snapshot stay."""

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_lagoon import terminations
from kafka_lagoon.cli.outcome import APPLY, INGEST, MAINTAIN, PARTIAL, SNAPSHOT, RunOutcome, one_by_one
from kafka_lagoon.cli.run_metrics import metrics_written
from kafka_lagoon.cli.terminal import BAD_CONFIGURATION, COMPLETE, FAILED, INCOMPLETE, LOCKED
from kafka_lagoon.errors import ConfigError, LockHeld, PipelineError, TableError
from kafka_lagoon.job_settings import MetricsSettings
from kafka_lagoon.metrics.exposition import Metric, Sample
from kafka_lagoon.settings import Settings
from tests.clock import CLOCK
from tests.metrics.parsed import in_file, value

LATER = replace(CLOCK, now_ms=lambda: 2_000_000)
CLOCK_AT_1000 = replace(CLOCK, now_ms=lambda: 1_000_000)
END = "lagoon_run_end_timestamp_seconds"
LAG = Metric("lagoon_group_lag", "Lag.", ("kafka_cluster", "group"))


def run(folder: Path, *outcomes: RunOutcome, ends: object = COMPLETE, clock: object = CLOCK_AT_1000) -> None:
    """Make run outcomes with this exit code, or this error."""

    def end(_: RunOutcome) -> int:
        if isinstance(ends, BaseException):
            raise ends
        return ends  # type: ignore[return-value]

    with metrics_written(of(folder), outcomes, clock):  # type: ignore[arg-type]
        one_by_one(outcomes, CLOCK, end)


def of(folder: Path, warehouse: str = "/lake") -> Settings:
    """Settings whose runs write their metrics to a folder."""
    return Settings(warehouse=warehouse, metrics=MetricsSettings(folder=str(folder)))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_each_cluster_has_its_files(tmp_path: Path) -> None:
    """Runs over several clusters, and several jobs, do not replace each other's files."""
    run(tmp_path, RunOutcome(job=SNAPSHOT, cluster="a"), RunOutcome(job=SNAPSHOT, cluster="b"))
    run(tmp_path, RunOutcome(job=INGEST, cluster="a", records=7, bytes_fetched=900, lost=1))
    assert names(tmp_path) == [
        f"lagoon-{what}-{run}.prom" for what in ("result", "run") for run in ("ingest-a", "snapshot-a", "snapshot-b")
    ]
    samples = in_file(tmp_path / "lagoon-run-ingest-a.prom")
    labels = {"lagoon_job": "ingest", "kafka_cluster": "a"}
    assert value(samples, "lagoon_run_exit_code", **labels) == 0
    assert value(samples, "lagoon_run_end_timestamp_seconds", **labels) == 1000
    assert value(samples, "lagoon_run_records", **labels) == 7
    assert value(samples, "lagoon_run_fetched_bytes", **labels) == 900
    assert value(samples, "lagoon_run_lost_offsets", **labels) == 1
    assert value(samples, "lagoon_run_corrupt_offsets", **labels) is None


def test_a_cluster_does_not_wait_for_the_others(tmp_path: Path) -> None:
    """Its files are there when its own run has ended, with that time: the process may be killed while it is with another."""
    now_ms, seen = [1_000_000], list[list[str]]()

    def end(outcome: RunOutcome) -> int:
        seen.append(names(tmp_path))
        now_ms[0] += 600_000
        if outcome.cluster == "b":
            raise TableError("gone")
        return COMPLETE

    made = [RunOutcome(job=INGEST, cluster=name) for name in "abc"]
    with metrics_written(of(tmp_path), made, replace(CLOCK, now_ms=lambda: now_ms[0])):
        one_by_one(made, CLOCK, end)
    of_a = ["lagoon-result-ingest-a.prom", "lagoon-run-ingest-a.prom"]
    assert seen == [[], of_a, [*of_a, "lagoon-run-ingest-b.prom"]]
    ends = [
        value(in_file(tmp_path / f"lagoon-run-ingest-{name}.prom"), END, lagoon_job="ingest", kafka_cluster=name)
        for name in "abc"
    ]
    assert ends == [1600, 2200, 2800]


def test_an_interrupted_run_has_the_exit_code_of_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It had 1: a run that a scheduler has ended looked like one that failed. `maintain` has no outcome of its own by then."""
    monkeypatch.setattr(terminations, "terminations", [signal.SIGTERM])
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, RunOutcome(job=INGEST, cluster="a"), ends=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt), metrics_written(of(tmp_path), [RunOutcome(job=MAINTAIN)], CLOCK_AT_1000):
        raise KeyboardInterrupt
    of_ingest, of_maintain = (in_file(tmp_path / f"lagoon-run-{name}.prom") for name in ("ingest-a", "maintain"))
    assert value(of_ingest, "lagoon_run_exit_code", lagoon_job="ingest", kafka_cluster="a") == 143
    assert value(of_maintain, "lagoon_run_exit_code", lagoon_job="maintain") == 143


def test_metrics_of_another_warehouse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two warehouses with a cluster `default` have files of one name: a line says so at each run, in the format a comment."""
    lines = list[str]()
    for warehouse in ("/a", "/a", "/b", "/a"):
        for outcome in (RunOutcome(job=INGEST, cluster="default"), RunOutcome(job=MAINTAIN)):
            with metrics_written(of(tmp_path, warehouse), [outcome], CLOCK_AT_1000):
                one_by_one([outcome], CLOCK, lambda _: COMPLETE)
        lines.append(capsys.readouterr().err)
    assert ["had the metrics" in some for some in lines] == [False, False, True, True]
    assert "tables in /a: give the clusters names of their own" in lines[2]
    assert "lagoon-run-maintain.prom had the metrics of tables in /b: it shows the last one only" in lines[3]
    assert value(in_file(tmp_path / "lagoon-run-maintain.prom"), END, lagoon_job="maintain") == 1000


def test_metrics_of_a_run_without_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`lagoon apply` needs no warehouse: its metrics name none, and no run says that it has replaced those of one."""
    for settings in (of(tmp_path), Settings(metrics=MetricsSettings(folder=str(tmp_path))), of(tmp_path)):
        with metrics_written(settings, [made := RunOutcome(job=APPLY, cluster="default")], CLOCK_AT_1000):
            one_by_one([made], CLOCK, lambda _: COMPLETE)
        has_place = (tmp_path / "lagoon-run-apply-default.prom").read_text().startswith("# warehouse: /lake\n")
        assert has_place is settings.has_tables()
    assert "had the metrics" not in capsys.readouterr().err


def test_a_warehouse_that_is_spelled_in_several_ways(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scheduler names it by an absolute path, people perhaps by another one: it is no other warehouse."""
    monkeypatch.chdir(tmp_path)
    for warehouse in (str(tmp_path / "lake"), "lake", f"file://{tmp_path}/lake/"):
        with metrics_written(of(tmp_path, warehouse), [made := RunOutcome(job=MAINTAIN)], CLOCK_AT_1000):
            one_by_one([made], CLOCK, lambda _: COMPLETE)
    assert "had the metrics" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ends", "status", "code"),
    [
        (TableError("gone"), "failed", FAILED),
        (LockHeld("it", "process 1"), "locked", LOCKED),
        (ZeroDivisionError(), "failed", FAILED),
    ],
)
def test_a_run_that_failed_leaves_the_last_result(tmp_path: Path, ends: Exception, status: str, code: int) -> None:
    """Its own file has the exit code and the time; the lag and the time of the newest snapshot are kept."""
    run(tmp_path, RunOutcome(job=SNAPSHOT, cluster="a", metrics=[Sample(LAG, ("a", "g"), 5)]))
    try:
        run(tmp_path, RunOutcome(job=SNAPSHOT, cluster="a"), ends=ends, clock=LATER)
    except ZeroDivisionError:
        assert isinstance(ends, ZeroDivisionError)
    labels = {"lagoon_job": "snapshot", "kafka_cluster": "a"}
    samples = in_file(tmp_path / "lagoon-run-snapshot-a.prom")
    assert value(samples, "lagoon_run_exit_code", **labels) == code
    assert value(samples, "lagoon_run_end_timestamp_seconds", **labels) == 2000
    statuses = {dict(key)["status"]: one for (name, key), one in samples.items() if name == "lagoon_run_status"}
    assert statuses == {name: name == status for name in ("complete", "failed", "misconfigured", "partial", "locked")}
    result = in_file(tmp_path / "lagoon-result-snapshot-a.prom")
    assert value(result, "lagoon_last_success_timestamp_seconds", **labels) == 1000
    assert value(result, "lagoon_group_lag", kafka_cluster="a", group="g") == 5


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        (ConfigError(["cluster_id: another cluster answers"]), "misconfigured"),
        (TableError("gone"), "failed"),
        (LockHeld("it", "process 1"), "locked"),
    ],
)
def test_a_run_without_a_result_says_nothing_of_snapshots(tmp_path: Path, ends: Exception, status: str) -> None:
    """The first run of a host may fail although another host has published a snapshot."""
    run(tmp_path, RunOutcome(job=SNAPSHOT, cluster="new"), ends=ends)
    assert names(tmp_path) == ["lagoon-run-snapshot-new.prom"]
    runs = in_file(tmp_path / "lagoon-run-snapshot-new.prom")
    assert value(runs, "lagoon_run_status", lagoon_job="snapshot", kafka_cluster="new", status=status) == 1
    assert not [name for name, _ in runs if name.startswith("lagoon_snapshot")]


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ConfigError(["the warehouse cannot be written"]), "misconfigured", BAD_CONFIGURATION),
        (LockHeld("it", "process 1"), "locked", LOCKED),
        (TableError("gone"), "failed", FAILED),
    ],
)
def test_an_error_of_the_whole_run_has_its_code(tmp_path: Path, error: PipelineError, status: str, code: int) -> None:
    """`maintain` checks the warehouse before its tables: the event said misconfigured, and the metric 1 and failed."""
    with pytest.raises(type(error)), metrics_written(of(tmp_path), [RunOutcome(job=MAINTAIN)], CLOCK_AT_1000):
        raise error
    runs = in_file(tmp_path / "lagoon-run-maintain.prom")
    assert value(runs, "lagoon_run_exit_code", lagoon_job="maintain") == code
    assert value(runs, "lagoon_run_status", lagoon_job="maintain", status=status) == 1


def test_a_partial_result_is_a_result(tmp_path: Path) -> None:
    """A partial result is in the tables, with exit code 3, 0 or 1."""
    run(tmp_path, RunOutcome(job=SNAPSHOT, cluster="a", status=PARTIAL), ends=INCOMPLETE)
    run(tmp_path, RunOutcome(job=SNAPSHOT, cluster="b", status=PARTIAL), ends=TableError("fail_when_incomplete"))
    assert [name for name in names(tmp_path) if "result" in name] == [
        "lagoon-result-snapshot-a.prom",
        "lagoon-result-snapshot-b.prom",
    ]


def test_a_repeated_slot_is_no_new_result(tmp_path: Path) -> None:
    """The run ended well and published nothing: the metrics of the published snapshot stay."""
    run(tmp_path, RunOutcome(job=SNAPSHOT, cluster="a", metrics=[Sample(LAG, ("a", "g"), 5)]))
    run(tmp_path, RunOutcome(job=SNAPSHOT, cluster="a", already_published=True), clock=LATER)
    result = in_file(tmp_path / "lagoon-result-snapshot-a.prom")
    assert value(result, "lagoon_group_lag", kafka_cluster="a", group="g") == 5
    samples = in_file(tmp_path / "lagoon-run-snapshot-a.prom")
    assert value(samples, "lagoon_run_end_timestamp_seconds", lagoon_job="snapshot", kafka_cluster="a") == 2000


def test_a_dry_run_leaves_no_metrics(tmp_path: Path) -> None:
    """A dry run has not done the scheduled work."""
    run(tmp_path, RunOutcome(job=MAINTAIN, dry_run=True))
    assert names(tmp_path) == []


def test_a_job_without_a_cluster(tmp_path: Path) -> None:
    """`lagoon maintain` has tables instead of clusters."""
    run(tmp_path, RunOutcome(job=MAINTAIN))
    assert value(in_file(tmp_path / "lagoon-run-maintain.prom"), "lagoon_run_exit_code", lagoon_job="maintain") == 0


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line reports it, and the exit code stays the same, because the work of the run is done."""
    run(tmp_path / "none", RunOutcome(job=MAINTAIN))
    assert capsys.readouterr().err == f"lagoon: metrics.folder: {tmp_path / 'none'}: No such file or directory\n"
