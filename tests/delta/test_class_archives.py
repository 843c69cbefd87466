"""JVMs use the class archives that are made for them, and start without an archive that does not fit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_lagoon.delta import jvm_start
from kafka_lagoon.jars.class_archives import KERNEL, SPARK, SPARK_CLASS_PATH, archive_options
from kafka_lagoon.jars.java import class_path
from kafka_lagoon.jars.locked_jars import cache_folder
from tests.delta.test_admin_actions import NOON_MS
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster
from tests.jobs.commands import ROOT, lagoon, rows, run, submit

pytestmark = [pytest.mark.java, pytest.mark.proof]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with the archives of `lagoon path classes`."""
    cache = tmp_path_factory.mktemp("cache")
    (cache / "jars").symlink_to(cache_folder().absolute() / "jars")
    made = lagoon("path", "classes", LAGOON_CACHE=str(cache))
    assert (made.returncode, made.stdout, made.stderr) == (0, f"{cache}/classes\n", "")
    assert {path.name for path in (cache / "classes").iterdir()} == {
        *(KERNEL, SPARK, SPARK_CLASS_PATH),
        *(f"{name}.size" for name in (KERNEL, SPARK)),
    }
    return cache


@pytest.fixture(params=["whole", "broken", "cut off", "of another Java"])
def archives(cache: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the archives unchanged, with only their header, truncated, or with another version in the header."""
    monkeypatch.setenv("LAGOON_CACHE", str(cache))
    made = {cache / "classes" / name: (cache / "classes" / name).read_bytes() for name in (KERNEL, SPARK)}
    for path, content in made.items():
        changed = {
            "broken": content[:4096] + bytes(len(content) - 4096),
            "cut off": content[: len(content) // 2],
            "of another Java": _of_another_java(content),
        }
        path.unlink()
        path.write_bytes(changed.get(request.param, content))
    yield request.param
    for path, content in made.items():
        path.write_bytes(content)


def _of_another_java(content: bytes) -> bytes:
    """Replace the JVM's version string in the header."""
    start, end = content[:4096], content[4096:]
    assert b"OpenJDK" in start
    return start.replace(b"OpenJDK", b"Another") + end


def test_the_kernel_starts(cache: Path, archives: str, tmp_path: Path) -> None:
    """A JVM that must not start without the archive starts; rows are written with a fitting and with a wrong archive."""
    if archives == "whole":
        jars = jvm_start.kernel_jars()
        py4j = next(jar for jar in jars if jar.name.startswith("py4j-"))  # py4j's jar is first
        options = ["-Xshare:on", *jvm_start._FLAGS, *archive_options(KERNEL)]
        started = run(["java", *options, "-cp", class_path([py4j, *jars]), "-version"])
        assert started.returncode == 0, started.stdout + started.stderr
    written = run(["python", "-m", "tests.delta.plain_recording", str(tmp_path), str(NOON_MS)], LAGOON_CACHE=str(cache))
    assert (written.returncode, written.stdout) == (0, "None\n"), written.stderr
    assert len(rows(tmp_path, "admin_actions")) == 5


@pytest.mark.spark
def test_spark_starts(cache: Path, archives: str, tmp_path: Path) -> None:
    """A driver with all of Spark's jars starts, too; without an archive jobs log a line."""
    if archives == "whole":
        first, rest = (cache / "classes" / SPARK_CLASS_PATH).read_text().splitlines()
        started = run(
            ["java", "-Xshare:on", *archive_options(SPARK), "-cp", f"{first}:{ROOT}/conf/:{rest}", "-version"]
        )
        assert started.returncode == 0, started.stdout + started.stderr
    state = FakeCluster()
    state.add_topic("t", 2)
    with fake_cluster(state):
        servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
        options = ["--warehouse", str(tmp_path), "--set", f"kafka.bootstrap_servers={servers}"]
        jobs = [["snapshot"], ["ingest", "--topics", "t"], ["maintain"]] if archives == "whole" else [["snapshot"]]
        for job, *arguments in jobs:
            done = submit(job, *arguments, *options, LAGOON_CACHE=str(cache))
            assert done.returncode == 0, done.stdout + done.stderr
            assert "run_finished" in done.stdout
            lines = [line.lower() for line in done.stdout.splitlines()]
            assert not [line for line in lines if "shared" in line or "archive file" in line]
    assert len(rows(tmp_path, "snapshots")) == 1
