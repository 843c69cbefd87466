"""The log of a job's effects is read as it was written, and says where the job can die."""

from pathlib import Path

from tests.proof.points.effects import has_stopped, is_waiting, points, read_effects

LOG = """\
before\tdelta.publish._write:create snapshots file\t1\tsnapshots/a.parquet\t7\tdriver
after\tdelta.publish._write:create snapshots file\t1\tsnapshots/a.parquet\t7\tdriver
before\tdelta.publish._write:commit snapshots\t1\tsnapshots\t7\tdriver
before\tLagoonLocalLogStore:write snapshots temporary file\t1\tsnapshots/_delta_log/.00000000000000000001.json.x.tmp\t0\tdriver
after\tLagoonLocalLogStore:write snapshots temporary file\t1\tsnapshots/_delta_log/.00000000000000000001.json.x.tmp\t0\tdriver
after\tdelta.publish._write:commit snapshots\t1\tsnapshots\t7\tdriver
before\tdelta.storage:remove snapshots file\t1\tsnapshots/b.parquet\t7\tdriver
nothing\tdelta.storage:remove snapshots file\t1\tsnapshots/b.parquet\t7\tdriver
before\tclient:Produce\t1\tProduce\t9\tworker
after\tclient:Produce\t1\tProduce\t9\tworker
waiting\tlock\t1\t.lagoon-commit.lock\t8\tdriver
before\tclient:Produce\t2\tProduce\t9\tworker
"""


def test_a_log_has_points(tmp_path: Path) -> None:
    """A point is before each effect that took place, once where Python and Java see the same one; workers also die alone."""
    (tmp_path / "log").write_text(LOG)
    effects = read_effects(tmp_path / "log")
    assert [effect.outcome for effect in effects] == ["after", "after", "after", "nothing", "after", "before"]
    assert [effect.verb for effect in effects] == ["create", "commit", "write", "remove", "Produce", "Produce"]
    assert [effect.is_request for effect in effects] == [False] * 4 + [True] * 2
    assert points(effects) == [
        "delta.publish._write:create snapshots file#1",
        "delta.publish._write:commit snapshots#1",
        "client:Produce#1",
        "worker client:Produce#1",
    ]
    assert is_waiting(tmp_path / "log")
    assert not has_stopped(tmp_path / "log")
    assert not read_effects(tmp_path / "none")
