"""The order and the conditions of the checks: what is left out where it is of no use, and said once."""

from pathlib import Path

import pytest

from kafka_lagoon.clock import SYSTEM_CLOCK
from kafka_lagoon.doctor import checks, versions
from kafka_lagoon.doctor.results import FAILED
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.secret import Secret


def test_a_machine_without_spark_needs_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An analyst's machine, with the extra sql alone: nothing fails and nothing warns of what only jobs need."""
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    wanted = [
        "pydantic>=2",
        'pyarrow>=18; extra == "records"',
        'numba>=0.6; extra == "records"',
        'pyarrow>=18; extra == "sql"',
        'duckdb>=1; extra == "sql"',
    ]
    there = {"pydantic": "2.9", "pyarrow": "20.0", "duckdb": "2.0"}
    monkeypatch.setattr(versions, "requires", lambda _: wanted)
    monkeypatch.setattr(versions, "_installed", there.get)
    of = {(one.check, one.subject): one.status for one in checks.machine()}
    assert [of[name, name] for name in ("java", "jars", "class archive")] == ["not_checked"] * 3
    packages = {subject: status for (check, subject), status in of.items() if check == "packages"}
    assert packages == {"kafka-lagoon": "ok", "kafka-lagoon[records]": "not_checked", "kafka-lagoon[sql]": "ok"}
    there["numpy"], wanted[3] = "2.0", 'numpy>=1; extra == "records"'
    (records,) = (one for one in versions.packages() if one.subject == "kafka-lagoon[records]")
    assert (records.status, records.observed) == ("failed", "not installed: numba")


@pytest.mark.parametrize(("password", "warnings"), [("text", 1), ("file:{}/password", 0)])
def test_a_file_that_only_refers_to_secrets_may_be_read(tmp_path: Path, password: str, warnings: int) -> None:
    """The file with the settings holds a secret only where one is written out in it."""
    (tmp_path / "password").write_text("text")
    conf = tmp_path / "lagoon.toml"
    conf.touch()
    conf.chmod(0o644)
    kafka = KafkaSettings(bootstrap_servers="127.0.0.1:1", sasl_password=Secret(password.format(tmp_path)))
    results = list(checks._secrets("prod", kafka, conf))
    assert [one.status for one in results] == ["ok", *["warning"] * warnings]


def test_no_place_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor names it, and makes its other checks: a pod without /tmp is what it may be asked about."""
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: ["/nowhere/tmp"])
    examination = checks.Examination(settings=None, clusters={}, needs=(), clock=SYSTEM_CLOCK, timeout_ms=1)
    results = list(checks.examine(examination))
    (failed,) = (result for result in results if result.status == FAILED)
    assert (failed.check, failed.subject) == ("disk", "temporary files")
    assert failed.observed.startswith(
        "temporary files: No usable temporary directory found in ['/nowhere/tmp']: let TMPDIR"
    )
    assert [result.check for result in results][-1] == "executors"
