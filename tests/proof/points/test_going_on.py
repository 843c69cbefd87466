"""A run over points that was ended goes on where it ended."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.proof.figures import Figures
from tests.proof.points import __main__ as command
from tests.proof.points.__main__ import Counts
from tests.proof.points.effects import Effect
from tests.proof.points.jobs import Job


def test_points_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is ended keeps its points, and the next one begins with those that are left, whatever the order of effects."""
    recordings: list[str] = []
    tried: list[tuple[str, str]] = []

    def record(_: object, job: Job, counts: Counts) -> list[Effect]:  # noqa: ARG001
        recordings.append(job.name)
        names = "abc" if len(recordings) % 2 else "cba"
        return [Effect(name, 1, "", is_driver=True, outcome="after") for name in names]

    def die(_: object, job: Job, point: str, counts: Counts, **__: bool) -> None:
        if len(tried) == 4 and len(recordings) == 2:
            raise KeyboardInterrupt
        tried.append((job.name, point))
        counts.numbers["deaths"] += 1

    @contextmanager
    def nothing(_: object) -> Iterator[None]:
        yield None

    for name, stand_in in (("recorded", record), ("died", die), ("new_world", nothing), ("object_store", nothing)):
        monkeypatch.setattr(command, name, stand_in)
    jobs = {name: SimpleNamespace(name=name) for name in ("snapshot", "ingest")}
    monkeypatch.setattr(command, "new_jobs", lambda _: jobs)
    path = tmp_path / "figures.json"
    arguments = ["--go-on", "--json", str(path), "--job", "snapshot", "--job", "ingest"]
    with pytest.raises(KeyboardInterrupt):
        command.main(arguments)
    assert Figures.read(path).tried == {"jobs": 2, "effects": 6, "points": 4}
    assert command.main(arguments) == 0
    assert tried == [(name, f"{point}#1") for name in ("snapshot", "ingest") for point in "abc"]
    figures = Figures.read(path)
    assert figures.tried == {"jobs": 2, "effects": 6, "points": 6}
    assert figures.happened["deaths"] == figures.happened["ingest: points"] + figures.happened["snapshot: tried"] == 6
    assert command.main(arguments) == 0
    assert recordings == ["snapshot", "ingest", "ingest"]
