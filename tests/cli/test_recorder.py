"""Alterations are recorded if the settings name a warehouse, and not sent if it cannot be written."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_lagoon.cli import recorder
from kafka_lagoon.cli.main import main
from kafka_lagoon.cli.recorder import OpeningRecorder
from kafka_lagoon.delta import admin_actions
from kafka_lagoon.delta.admin_actions import recording
from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.query import duckdb_engine
from tests.apply.kinds_in_memory import Things, failure
from tests.cli.admin.test_command import Output, server, things
from tests.clock import CLOCK
from tests.warehouses import settings

__all__ = ["server", "things"]  # fixtures


@pytest.fixture(autouse=True)
def one_jvm(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Uses the JVM of the session instead of a JVM per command; tests/delta/test_admin_actions.py starts another."""
    assert spark
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


@pytest.fixture
def lake(warehouse: Warehouse) -> Path:
    """The folder of an empty warehouse."""
    return Path(warehouse.name.removeprefix("file:"))


def recorded(folder: Path) -> list[tuple[str, ...]]:
    """Return name, outcome and error of every action in a warehouse."""
    with duckdb_engine.opened(folder, {"admin_outcomes"}) as ask:
        rows = ask("SELECT resource_name, outcome, error_name FROM admin_outcomes ORDER BY 1")
        return [tuple(row.values()) for batch in rows.batches for row in batch.to_pylist()]


def test_a_verb_is_recorded(things: Things, server: str, tmp_path: Path, capsys: Output) -> None:
    """Every action is recorded with its outcome; a dry run makes no warehouse."""
    things.answers, things.undone = {"b": failure("DENIED", code=29)}, {"b"}
    assert main(["admin", "set", "a", server, "--warehouse", str(tmp_path / "new"), "--dry-run"]) == 0
    assert not (tmp_path / "new").exists()
    assert main(["admin", "set", "a", "b", server, "--warehouse", str(tmp_path / "new"), "--yes"]) == 3
    assert recorded(tmp_path / "new") == [("a", "done", None), ("b", "failed", "DENIED")]
    assert "recorded" not in capsys.readouterr().err


def test_a_warehouse_that_cannot_be_written_stops_everything(
    things: Things, server: str, tmp_path: Path, capsys: Output
) -> None:
    """Exit 2, and nothing is sent."""
    (tmp_path / "file").write_text("")
    assert main(["admin", "set", "a", server, "--warehouse", str(tmp_path / "file"), "--yes"]) == 2
    assert "warehouse" in capsys.readouterr().err
    assert things.sent == []


def test_two_runs_do_not_alter_a_cluster_at_once(
    things: Things, server: str, warehouse: Warehouse, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 4 after the wait for the lock, and nothing is sent."""
    monkeypatch.setattr(recorder, "LOCK_WAIT_MS", 200)
    with recording(warehouse, "fake", CLOCK):
        assert main(["admin", "set", "a", server, "--warehouse", str(lake), "--yes"]) == 4
    assert things.sent == []
    assert recorded(lake) == []


def test_a_record_that_breaks_in_the_middle_is_incomplete(
    things: Things, server: str, lake: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    """Exit 3: sent actions are reported, and their outcome stays unknown in the table."""
    real, calls = Kernel.append, []

    def breaking(*args: object, **kwargs: object) -> int:
        calls.append(args)
        if len(calls) > 1:
            raise admin_actions.ChecksFailed("gone")
        return real(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(Kernel, "append", breaking)
    assert main(["admin", "set", "a", server, "--warehouse", str(lake), "--yes"]) == 3
    assert things.sent == [("put", "a")]
    assert "outcomes are missing in table admin_actions: gone" in capsys.readouterr().err
    assert recorded(lake) == [("a", "unknown", None)]


def test_errors_come_when_the_recorder_is_asked_for(tmp_path: Path) -> None:
    """Errors are not raised while it opens in the background: a plan without actions needs no recorder."""
    (tmp_path / "file").write_text("")
    given = settings(f"warehouse={tmp_path / 'file'}", "kafka.bootstrap_servers=localhost:9092")
    opening = OpeningRecorder("admin", given, CLOCK)
    opening.begin()
    with pytest.raises(ConfigError), opening.opened("id"):
        pass


def test_without_a_warehouse_it_says_so_before_a_plan_is_confirmed(capsys: Output) -> None:
    """One warning says that nothing is recorded, and that no lock prevents simultaneous runs."""
    with OpeningRecorder("admin", None, CLOCK) as made:
        made.begin()
        said = capsys.readouterr().err
        assert "nothing is recorded in table admin_actions, and no lock prevents two runs from altering" in said
        with made.opened("id"):
            pass
    assert capsys.readouterr().err == ""
