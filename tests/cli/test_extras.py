"""One line instead of a traceback where a package of an extra is not installed."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from kafka_lagoon.cli import extras
from kafka_lagoon.cli.extras import EXTRAS, with_extra
from tests.installed import CLONE

_IMPORTED_AS = {
    "pyyaml": "yaml",
    "python-snappy": "snappy",
    "delta-spark": "delta",
    "confluent-kafka": "confluent_kafka",
}
# Packages of numba, PySpark and Jinja, which this project imports, too.
_COME_WITH_OTHERS = {"llvmlite", "py4j", "markupsafe"}


def lacking(package: str) -> int:
    """Make a command that lacks a package."""
    raise ModuleNotFoundError(f"No module named '{package}.part'", name=f"{package}.part")


@pytest.mark.parametrize(
    ("of_command", "package", "extra"),
    [
        ("spark", "pyspark", "spark"),
        ("spark", "pyarrow", "spark"),
        ("sql", "pyarrow", "sql"),
        ("sql", "duckdb", "sql"),
        ("sql", "py4j", "spark"),
        ("snapshot", "py4j", "snapshot"),
        ("demo", "confluent_kafka", "demo"),
        ("records", "numba", "records"),
    ],
)
def test_the_extra_is_named(
    of_command: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the command's own extra if that has the package, else another extra with the package."""
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    assert with_extra(of_command, lambda: lacking(package)) == 2
    assert capsys.readouterr().err == f"lagoon: {package} is not installed: pip install 'kafka-lagoon[{extra}]'\n"


def test_a_platform_keeps_its_spark(capsys: pytest.CaptureFixture[str]) -> None:
    """If a platform has PySpark, extra `spark` would replace it, so `records` is named for other packages."""
    assert "pyspark" in sys.modules or extras.find_spec("pyspark")
    assert with_extra("spark", lambda: lacking("isal")) == 2
    assert capsys.readouterr().err.endswith("pip install 'kafka-lagoon[records]'\n")


def test_another_package_is_a_fault_of_ours() -> None:
    """A missing module that is in no extra is not hidden; the return value of a command is its exit code."""
    with pytest.raises(ModuleNotFoundError, match="kafka_lagoon"):
        with_extra("spark", lambda: lacking("kafka_lagoon"))
    assert with_extra("spark", lambda: 3) == 3


@pytest.mark.parametrize(
    "module",
    [
        "kafka_lagoon.restore.tasks",
        "kafka_lagoon.runs.restore",
        "kafka_lagoon.runs.ingest",
        "kafka_lagoon.cli.sql",
        "kafka_lagoon.cli.tables.lag",
    ],
)
def test_spark_needs_no_duckdb(module: str) -> None:
    """Executors and `--engine spark` need the packages of `records` and `spark` only, as docs/installation.md says."""
    script = f"import sys\nfor name in ('duckdb', 'deltalake'): sys.modules[name] = None\nimport {module}\n"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_extras_are_those_of_pyproject() -> None:
    """The packages of each extra in pyproject.toml are listed under their import names, and no others."""
    declared = tomllib.loads((CLONE / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    packages = {name: {Requirement(text).name for text in declared[name]} - {"kafka-lagoon"} for name in EXTRAS}
    packages["spark"] |= packages["records"]
    packages["report"] |= packages["sql"]
    packages["demo"] |= packages["spark"] | packages["report"]
    for name, known in EXTRAS.items():
        assert {_IMPORTED_AS.get(package, package) for package in packages[name]} == known - _COME_WITH_OTHERS


def test_a_client_of_spark_connect_is_no_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The package pyspark-client has no JVM, no SparkContext and no py4j: a job reports it."""
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").touch()
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)

    def as_session_does() -> int:
        from pyspark import SparkContext  # noqa: PLC0415

        return int(SparkContext is None)

    for run in (as_session_does, lambda: lacking("py4j")):
        assert with_extra("spark", run) == 2
        complaint = capsys.readouterr().err
        assert complaint.startswith("lagoon: the PySpark that is installed is Spark Connect's client alone")
        assert complaint.count("\n") == 1
