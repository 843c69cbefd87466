"""Only executors of a run get the data of its tasks, and no other machine reaches its driver."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark import SparkConf

from kafka_lagoon.delta.spark_channels import channels, refuse_open_channels
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.secret import Secret
from tests.jobs.commands import environment
from tests.spark_thief import Listener, listeners, stolen

PASSWORD = "Xy7-a-literal-password"  # noqa: S105
# A job whose task settings have a password, as in ingests; it waits so that its blocks can be requested.
JOB = f"""
from types import SimpleNamespace
from kafka_lagoon.delta.executors import on_executors
from kafka_lagoon.delta.session import session
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.secret import Secret
spark = session("channels")
settings = KafkaSettings(bootstrap_servers="localhost:9092", sasl_password=Secret({PASSWORD!r}))
print(on_executors(SimpleNamespace(spark=spark), max, 0, [1, 2]), flush=True)
tasks = spark.sparkContext.parallelize([1, 2], 2).map(lambda task, settings=settings: task)
print(tasks.collect(), flush=True)
input()
"""


@contextmanager
def job(*options: str) -> Iterator[list[Listener]]:
    """Return the listeners of a running job, once its tasks have run."""
    submit = " ".join([*options, '--driver-java-options "-XX:TieredStopAtLevel=1"', "pyspark-shell"])
    with started([sys.executable, "-c", JOB], PYSPARK_SUBMIT_ARGS=submit) as heard:
        yield heard


@contextmanager
def started(command: list[str], **environ: str) -> Iterator[list[Listener]]:
    """Return the listeners of a command that runs the job."""
    with subprocess.Popen(
        command,
        env=environment(**environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        assert process.stdout
        try:
            assert process.stdout.readline().endswith(b"[1, 2]\n")
            assert process.stdout.readline().endswith(b"[1, 2]\n")
            yield listeners(process.pid)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # spark-submit passes no end of input on


def blocks(heard: list[Listener]) -> list[bytes]:
    """Return the broadcast blocks that any listener sends: they have the content of tasks."""
    return [
        block
        for listener in heard
        if "java" in listener.command
        for number in range(2)
        if (block := stolen(listener, f"broadcast_{number}_piece0")) is not None
    ]


@pytest.mark.proof
@pytest.mark.spark
def test_a_stranger_gets_no_block() -> None:
    """Every listener is on loopback, and none of them sends a block to a client without the secret."""
    with job() as heard:
        assert len([one for one in heard if "java" in one.command]) == 3  # two of Spark, and py4j's with its token
        assert all(listener.is_loopback for listener in heard)
        assert blocks(heard) == []


@pytest.mark.spark
@pytest.mark.proof
@pytest.mark.parametrize("master", ["local[2]", "local-cluster[1,1,512]"], ids=lambda name: name[:9])
def test_a_script_of_spark_submit(tmp_path: Path, master: str) -> None:
    """With our settings, which SPARK_CONF_DIR names, this holds for master, worker and executor of local-cluster."""
    script = tmp_path / "job.py"
    script.write_text(JOB)
    with started(["spark-submit", "--master", master, "--conf", "spark.executor.memory=512m", str(script)]) as heard:
        assert len([one for one in heard if "java" in one.command]) >= 3
        assert [listener for listener in heard if not listener.is_loopback] == []
        assert blocks(heard) == []


@pytest.mark.proof
@pytest.mark.spark
def test_the_stranger_can_read() -> None:
    """Without authentication, Spark's default, the same frames return the blocks."""
    with job("--conf spark.authenticate=false --conf spark.network.crypto.enabled=false") as heard:
        assert len(blocks(heard)) == 2


@pytest.mark.parametrize("master", [None, "local", "local[2]", "local[*]", "local-cluster[2,1,512]"])
def test_local_masters_bind_to_loopback(master: str | None) -> None:
    """Driver and executors authenticate and encrypt, with a secret that Spark or the session makes."""
    conf = SparkConf(loadDefaults=False)
    made = channels(conf.setMaster(master) if master else conf)
    assert made["spark.driver.host"] == made["spark.driver.bindAddress"] == "127.0.0.1"
    assert made["spark.authenticate"] == made["spark.network.crypto.enabled"] == "true"
    assert ("spark.authenticate.secret" in made) == str(master).startswith("local-cluster")


@pytest.mark.parametrize("master", ["yarn", "k8s://https://kubernetes:443"])
def test_clusters_that_make_a_secret(master: str) -> None:
    """They authenticate and encrypt; the driver's address is their choice."""
    made = channels(SparkConf(loadDefaults=False).setMaster(master))
    assert made == {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}


def test_a_standalone_cluster_has_its_secret() -> None:
    """With its daemons' secret runs authenticate, without it they cannot, and a secret on one side is a fault."""
    conf = SparkConf(loadDefaults=False).setMaster("spark://head:7077")
    assert channels(conf) == {}
    with pytest.raises(ConfigError, match=r"needs spark\.authenticate\.secret in a properties file"):
        channels(conf.set("spark.authenticate", "true"))
    conf.set("spark.authenticate.secret", "0123456789")
    assert channels(conf) == {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}


def context(master: str, **conf: str) -> SimpleNamespace:
    """The parts of a SparkContext that are used."""
    made = SparkConf(loadDefaults=False)
    for name, value in conf.items():
        made.set(name.replace("__", "."), value)
    return SimpleNamespace(master=master, getConf=lambda: made)


TEXT = KafkaSettings(bootstrap_servers="localhost:9092", sasl_password=Secret(PASSWORD))
REFERENCE = KafkaSettings(bootstrap_servers="localhost:9092", sasl_password=Secret("env:KAFKA_PASSWORD"))


@pytest.mark.parametrize(
    ("master", "conf"),
    [
        ("spark://head:7077", {}),
        ("yarn", {"spark__authenticate": "true"}),  # without encryption
        ("local[*]", {"spark__authenticate": "false"}),
    ],
)
def test_a_password_is_not_sent_through_open_channels(master: str, conf: dict[str, str]) -> None:
    """One line without the password names the remedy; a reference is no secret."""
    with pytest.raises(ConfigError, match="env:NAME or file:/path") as raised:
        refuse_open_channels(context(master, **conf), {"nested": [TEXT]})
    assert PASSWORD not in str(raised.value)
    refuse_open_channels(context(master, **conf), {"nested": [REFERENCE, Secret("")]})


@pytest.mark.parametrize(
    ("master", "conf"),
    [
        ("local[*]", {"spark__authenticate": "true"}),
        ("yarn", {"spark__authenticate": "true", "spark__network__crypto__enabled": "true"}),
        ("spark://head:7077", {"spark__authenticate": "true", "spark__ssl__rpc__enabled": "true"}),
    ],
)
def test_a_password_is_sent_through_closed_channels(master: str, conf: dict[str, str]) -> None:
    """Channels are authenticated and encrypted, or authenticated and on this machine."""
    refuse_open_channels(context(master, **conf), TEXT)
