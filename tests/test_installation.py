"""`pip install kafka-lagoon` has the verbs of `lagoon kafka`; other commands name the extra that they need."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_lagoon.cli.extras import EXTRAS
from kafka_lagoon.cli.registry import names_of
from tests.effort import first
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster
from tests.installed import CLONE, Installed, install, install_alone

# Layers that must work without any extra.
_LIGHT = ("wire", "protocol", "client", "admin", "snapshot", "jars")
_NEED_RECORDS = ("fetch", "produce")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel without extras, in its own environment."""
    return install_alone(tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a cluster with one topic."""
    state = FakeCluster()
    state.add_topic("orders", 2)
    with fake_cluster(state):
        host, port = state.addresses[1]
        yield f"{host}:{port}"


def lagoon(installed: Installed, arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run `lagoon` in an installation."""
    return installed.run(f"{installed.environment}/bin/lagoon {arguments}", **environ)


def test_only_the_package_is_installed(alone: Installed) -> None:
    """The wheel has one top-level package; jobs, settings of Spark, views and lock files are data within it."""
    (site,) = (alone.environment / "lib").glob("python*/site-packages")
    assert {path.name.split("-")[0] for path in site.iterdir()} == {"kafka_lagoon", "packages.pth"}
    for folder in ("jobs", "conf"):
        in_clone = {path.name for path in (CLONE / folder).iterdir() if path.is_file()}
        assert {path.name for path in (site / "kafka_lagoon" / folder).iterdir() if path.is_file()} == in_clone
    for pattern in ("query/views/*.sql", "delta/java/*", "jars/locks/*.lock"):
        names = {path.name for path in (CLONE / "pipeline" / "kafka_lagoon").glob(pattern)}
        assert names
        assert {path.name for path in (site / "kafka_lagoon").glob(pattern)} == names


def test_no_package_of_an_extra_is_there(alone: Installed) -> None:
    """The requirements of the wheel do not include Spark, Arrow, numba, DuckDB or a codec."""
    packages = alone.environment.parent.parent / "packages"
    there = {path.name.removesuffix(".py") for path in packages.iterdir()}
    assert there >= {"pydantic", "shtab"}
    assert not there & frozenset().union(*EXTRAS.values())


def test_metadata_of_a_cluster(alone: Installed, server: str) -> None:
    """A verb prints the metadata of a cluster."""
    done = lagoon(alone, f"kafka metadata -b {server}")
    assert done.returncode == 0, done.stderr
    assert "orders" in done.stdout


def test_layers_and_verbs_import_without_extras(alone: Installed) -> None:
    """Every module of the layers for live clusters can be imported, and every verb except those for records."""
    verbs = [name.replace("-", "_") for name in names_of("kafka") if name not in _NEED_RECORDS]
    code = f"""
import importlib, pkgutil, kafka_lagoon
names = ["settings", "log", "cli.main", "cli.path"] + ["cli.kafka." + name for name in {verbs}]
names = ["kafka_lagoon." + name for name in names]
for layer in {_LIGHT}:
    path = [kafka_lagoon.__path__[0] + "/" + layer]
    names += [module.name for module in pkgutil.walk_packages(path, "kafka_lagoon." + layer + ".")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""
    python = alone.environment / "bin" / "python"
    done = subprocess.run([python, "-c", code], env=alone.cron(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 150


@pytest.mark.parametrize(
    ("arguments", "extra"),
    first(
        [
            ("snapshot", "snapshot"),
            ("sql 'SELECT 1'", "sql"),
            ("kafka fetch orders -b {server}", "records"),
            ("ingest", "spark"),
            ("maintain", "spark"),
            ("kafka produce orders -b {server} --value 1", "records"),
            ("demo", "demo"),
        ],
        3,
    ),
)
def test_what_is_missing_is_one_line(alone: Installed, server: str, arguments: str, extra: str) -> None:
    """A command names the extra that it needs, and exits with 2."""
    done = lagoon(alone, arguments.format(server=server))
    assert done.returncode == 2
    line = done.stderr
    assert line.startswith("lagoon: ")
    assert line.endswith(f" is not installed: pip install 'kafka-lagoon[{extra}]'\n")
    assert line.count("\n") == 1


@pytest.mark.parametrize(
    "job", first(sorted({one.stem for one in (CLONE / "jobs").glob("*.py")} - {"apply"}, reverse=True), 2)
)
def test_a_job_script_says_it_too(alone: Installed, job: str) -> None:
    """So does a script for spark-submit, in an environment without the extras; apply.py without tables needs none."""
    jobs = lagoon(alone, "path jobs").stdout.strip()
    done = alone.run(f"{alone.environment}/bin/python {jobs}/{job}.py")
    assert done.returncode == 2
    extra = job if job in {"report", "snapshot"} else "spark"
    assert done.stderr.endswith(f" is not installed: pip install 'kafka-lagoon[{extra}]'\n")


@pytest.mark.proof
@pytest.mark.java
def test_snapshots_need_their_own_extra_alone(server: str, tmp_path: Path) -> None:
    """`[snapshot]` has what a snapshot into a folder imports, and what time lag is read with; numba and DuckDB are not there."""
    collector = install(tmp_path, "snapshot")
    there = {path.name for path in (tmp_path / "packages").iterdir()}
    assert there.isdisjoint({"numba", "numpy", "delta", "duckdb", "deltalake"})
    done = lagoon(collector, f"snapshot --set kafka.bootstrap_servers={server} --warehouse {tmp_path}/lake --create")
    assert done.returncode == 0, done.stderr
    assert "1 topic, 2 partitions" in done.stdout
    code = "import kafka_lagoon.fetch.first_unread, kafka_lagoon.runs.earlier_offsets, kafka_lagoon.delta.session"
    imported = collector.run(f"{collector.environment}/bin/python -c '{code}'")
    assert imported.returncode == 0, imported.stderr


def test_jars_need_pyspark(alone: Installed) -> None:
    """`lagoon path jars` needs Ivy, which is part of PySpark: it names the extra and exits with 2, as other commands do."""
    done = lagoon(alone, "path jars")
    assert done.returncode == 2
    assert done.stderr == "lagoon: pyspark is not installed: pip install 'kafka-lagoon[spark]'\n"


def test_other_peoples_folders_do_no_harm(alone: Installed, server: str, tmp_path: Path) -> None:
    """Folders named pipeline, jobs, conf, admin and the like are not imported from PYTHONPATH or the current folder."""
    for name in ("pipeline", "jobs", "conf", "tests", "admin", "client", "settings", "errors", "log", "clock"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('imported')")
    done = lagoon(alone, f"kafka metadata -b {server}", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    jobs = lagoon(alone, "path jobs", PYTHONPATH=str(tmp_path)).stdout.strip()
    done = alone.run(f"cd {tmp_path} && {alone.environment}/bin/python {jobs}/snapshot.py", PYTHONPATH=str(tmp_path))
    assert "is not installed: pip install" in done.stderr
