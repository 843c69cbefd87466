"""Each job as spark-submit starts it: its listeners, their data for strangers, and the permissions of its files."""

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.cli.test_file_modes import open_to_others
from tests.integration.state import create_topics, delete_topics, produce
from tests.jobs.commands import ROOT, environment
from tests.spark_thief import Listener, listeners, stolen

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.proof, pytest.mark.timeout(900)]
SOURCE, TARGET, NEW = "closed-source", "closed-target", "closed-new"
_STATE = """
cluster_id = "{cluster_id}"
[owns]
topics = ["closed-new"]
[topics.closed-new]
partitions = 2
replication_factor = 1
"""


def test_every_job(kafka: LocalKafka, tmp_path: Path) -> None:
    """They listen only on loopback, send no block to strangers, and no file is readable for others."""
    create_topics(kafka.bootstrap_servers, [NewTopic(SOURCE, 4, 1)])
    produce(kafka.bootstrap_servers, SOURCE, 20_000)
    cluster_id = AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics(timeout=30).cluster_id
    (tmp_path / "state.toml").write_text(_STATE.format(cluster_id=cluster_id))
    (tmp_path / "state.toml").chmod(0o600)
    (tmp_path / "tmp").mkdir(mode=0o700)
    lake = ["--warehouse", str(tmp_path / "lake")]
    cluster = [*lake, "--set", f"kafka.bootstrap_servers={kafka.bootstrap_servers}"]
    restored = ["--from-cluster", "default", "--to-cluster", "default", "--topics", SOURCE]
    jobs = {
        "snapshot": cluster,
        "ingest": [*cluster, "--topics", SOURCE],
        "restore": [*cluster, *restored, "--rename", f"{SOURCE}={TARGET}", "--yes"],
        "apply": [str(tmp_path / "state.toml"), *cluster, "--yes"],
        "maintain": lake,
        "report": [*lake, "--out", str(tmp_path / "page.html")],
    }
    heard = {job: _run(job, arguments, tmp_path) for job, arguments in jobs.items()}
    delete_topics(kafka.bootstrap_servers, [SOURCE, TARGET, NEW])
    assert {job for job, some in heard.items() if any("java" in one.command for one in some)} >= {"ingest", "restore"}
    assert [(job, one) for job, some in heard.items() for one in some if not one.is_loopback] == []
    assert open_to_others(tmp_path) == []


def _run(job: str, arguments: Sequence[str], folder: Path) -> set[Listener]:
    """Return all listeners of a job until it ended with 0; check that none of them sent a block."""
    command = ["sh", "-c", 'umask 077; exec spark-submit "$@"', "sh", str(ROOT / "jobs" / f"{job}.py"), *arguments]
    heard: set[Listener] = set()
    with (folder / f"{job}.log").open("w") as log:
        (folder / f"{job}.log").chmod(0o600)
        environ = environment(TMPDIR=str(folder / "tmp"))
        with subprocess.Popen(command, env=environ, stdout=log, stderr=log) as process:
            while process.poll() is None:
                now = set(listeners(process.pid))
                for listener in now - heard:
                    assert "java" not in listener.command or stolen(listener, "broadcast_0_piece0") is None
                heard |= now
                time.sleep(0.2)
    assert process.returncode == 0, (folder / f"{job}.log").read_text()
    return heard
