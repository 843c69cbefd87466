"""A warehouse that only a session can reach is left to one, and the log says why."""

import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from kafka_lagoon import log
from kafka_lagoon.delta import plain_jvm, sessionless
from kafka_lagoon.delta.sessionless import without_session
from kafka_lagoon.errors import NeedsSession, TableError
from tests.clock import CLOCK
from tests.warehouses import settings


@pytest.fixture(autouse=True)
def _no_settings_of_a_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    """With them Spark would open the warehouse in any case."""
    for name in ("PYSPARK_GATEWAY_PORT", "HADOOP_CONF_DIR", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)


def test_a_bucket_whose_jars_cannot_be_had(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """No JVM is left, and Spark opens the warehouse; a terminal shows why that takes time."""

    def nowhere(_warehouse: str) -> None:
        raise NeedsSession("Hadoop's jars for S3: the registry did not deliver")

    monkeypatch.setattr(plain_jvm.SparkContext, "_gateway", None)  # the JVM of other tests
    monkeypatch.setattr(plain_jvm, "started_for", nowhere)
    monkeypatch.setattr(log, "_write", None)
    events = io.StringIO()
    log.configure(events)
    for is_terminal, shown in (
        (False, ""),
        (True, "lagoon: starting Spark, which may take a minute: Hadoop's jars for S3"),
    ):
        monkeypatch.setattr("sys.stderr.isatty", lambda is_terminal=is_terminal: is_terminal)
        with ExitStack() as stack:
            assert without_session(stack, settings("warehouse=s3a://bucket/lake"), CLOCK, ()) is None
        err = capsys.readouterr().err
        assert err.startswith(shown)
        assert err.count("\n") == is_terminal
    assert (
        '"event": "session_needed", "reason": "Hadoop\'s jars for S3: the registry did not deliver"'
        in events.getvalue()
    )


def test_a_process_with_a_jvm_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second JVM is not started beside it, and it has no jars for S3."""
    monkeypatch.setattr(plain_jvm.SparkContext, "_gateway", object())
    with ExitStack() as stack:
        assert without_session(stack, settings("warehouse=s3a://bucket/lake"), CLOCK, ()) is None


@pytest.mark.parametrize("error", [NeedsSession("columns are missing"), TableError("no"), None])
def test_a_jvm_that_cannot_open_the_warehouse_ends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: TableError | None
) -> None:
    """It does not stay beside the session that opens the warehouse instead; the JVM of an open warehouse ends with the run."""
    running: list[str] = []

    @contextmanager
    def plain_kernel(*_: object) -> Iterator[str]:
        running.append("JVM")
        try:
            yield "kernel"
        finally:
            running.remove("JVM")

    def open_alone(*_: object) -> str:
        if error:
            raise error
        return "warehouse"

    monkeypatch.setattr(sessionless, "plain_kernel", plain_kernel)
    monkeypatch.setattr(sessionless, "open_alone", open_alone)
    with ExitStack() as stack:
        with suppress(TableError):
            assert without_session(stack, settings(f"warehouse={tmp_path}"), CLOCK, ()) == (
                None if error else "warehouse"
            )
        assert running == ([] if error else ["JVM"])
    assert running == []
