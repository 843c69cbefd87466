"""Fixtures of all tests: real brokers, a Spark session, fake clusters and warehouses, made when a test asks for them.

Tests on these clusters make topics and groups under names of their own and leave the brokers running; one that stops a
broker starts it again before it ends.
"""

import gc
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from kafka_lagoon import log
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.sandbox.kafka import DEFAULT_VERSION, LocalKafka
from tests.clock import CLOCK
from tests.effort import examples, is_in_share
from tests.fake.broker import FakeBroker, fake_cluster
from tests.fake.cluster import FakeCluster
from tests.integration.administered import Administered, administered_kafka
from tests.integration.secured import Secured, secured_kafka
from tests.integration.tools_in_one import ToolsOfReleases
from tests.java_names import remember_names
from tests.object_store import ObjectStore, object_store, reach
from tests.short_timeouts import short_timeouts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_lagoon.delta.warehouse import Warehouse

# Machines that run these tests are shared: how long an example takes says nothing about the code.
hypothesis.settings.register_profile("shared machine", deadline=None, max_examples=examples(100))
hypothesis.settings.load_profile("shared machine")

# A fixture that costs a broker or a JVM marks every test that uses it, so that `make quick` can leave those out.
_OLDER_RELEASES = ("kafka_392", "kafka_282", "secured_392", "secured_282")
_BROKERS = ("kafka", "secured", "administered", *_OLDER_RELEASES)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make quick`, that of `make proof`, and one that shows whether files depend on their order."""
    parser.addoption("--without-processes", action="store_true", help="skip a test as soon as it starts a process")
    parser.addoption("--share", metavar="K/N", help="only the K-th of N equal parts of the tests, by their names")
    parser.addoption("--shuffle", metavar="SEED", help="give files to workers in an order that a seed draws")


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C is KeyboardInterrupt in the test, whatever handler others have set, which is set again afterwards."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def _without_processes(pytestconfig: pytest.Config) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if pytestconfig.getoption("--without-processes"):
            patch.setattr(subprocess.Popen, "__init__", lambda *_, **__: pytest.skip("starts a process"))
        yield


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give tests the markers of what they use. On an older release they are for `make proof`, but for those marked `smoke`."""
    if share := config.getoption("--share"):
        chosen = {item for item in items if is_in_share(item.nodeid, share)}
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [item for item in items if item in chosen]
    for item in items:
        used = _fixtures_of(item)
        if used & set(_BROKERS):
            item.add_marker("kafka")
        if used & set(_OLDER_RELEASES) and not item.get_closest_marker("smoke"):
            item.add_marker("proof")
        if "spark" in item.fixturenames:
            item.add_marker("spark")


def _fixtures_of(item: pytest.Item) -> set[str]:
    """Names of its fixtures; a test or fixture that requests one by name has the name as a parameter."""
    called = getattr(item, "callspec", None)
    by_name = called.params.values() if called and "request" in item.fixturenames else ()
    return {*item.fixturenames, *(name for name in by_name if isinstance(name, str))}


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the process, and what a worker of `make test` needs."""
    os.environ["LAGOON_CONF"] = ""  # a contributor's own lagoon.toml is not a test's
    # A shell ignores Ctrl-C for what runs in its background, and so would each process that a test starts.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.set_threshold(20_000, 20, 20)  # walking modules and tests again and again takes a tenth of the processor time
    if hasattr(config, "workerinput"):
        from tests.workers import FilesOnDemand, ServersStopEarly  # noqa: PLC0415  xdist may be missing where one test is run

        if not any("::" in place for place in config.args):
            config.pluginmanager.register(FilesOnDemand())
        config.pluginmanager.register(ServersStopEarly())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Share files out so that brokers and Spark run once (`make test`)."""
    from tests.workers import Workers  # noqa: PLC0415  xdist may be missing where one test is run

    workers = Workers(config, log)
    config.pluginmanager.register(workers)
    return workers


@pytest.fixture(autouse=True)
def _events_of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream to which a test sends events gets none after it: it is closed."""
    monkeypatch.setattr(log, "_write", log._write)


@pytest.fixture(scope="session")
def tools() -> Iterator[ToolsOfReleases]:
    """Kafka's command-line tools."""
    with ToolsOfReleases() as tools:
        yield tools


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory, tools: ToolsOfReleases) -> Iterator[LocalKafka]:
    """Three brokers of Kafka 4.4.0 in three racks."""
    nearest = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}  # KIP-392
    with LocalKafka(tmp_path_factory.mktemp("kafka"), racks=("a", "b", "c"), properties=nearest) as cluster:
        yield tools.give_to(cluster)


@pytest.fixture(scope="session")
def kafka_392(tmp_path_factory: pytest.TempPathFactory, tools: ToolsOfReleases) -> Iterator[LocalKafka]:
    """One broker of Kafka 3.9.2, the last release that knows the oldest versions of all APIs."""
    with LocalKafka(tmp_path_factory.mktemp("kafka-3.9.2"), version="3.9.2") as cluster:
        yield tools.give_to(cluster)


@pytest.fixture(scope="session")
def kafka_282(tmp_path_factory: pytest.TempPathFactory, tools: ToolsOfReleases) -> Iterator[LocalKafka]:
    """One broker of Kafka 2.8.2 on ZooKeeper, the last release that writes the message formats before headers."""
    with LocalKafka(tmp_path_factory.mktemp("kafka-2.8.2"), version="2.8.2") as cluster:
        yield tools.give_to(cluster)


# A JVM that lives for a minute gains nothing from its second compiler: this halves the CPU that the tests take. Each query runs
# once, so compiling it, planning it again while it runs and a second partition of a shuffle cost another third. Jobs that tests start
# by spark-submit run without any of this, as users run them.
_RUN_ONCE = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.broadcastTimeout": "900",  # the largest view takes minutes where the cores are busy
    "spark.databricks.delta.snapshotPartitions": "1",
    # Each join and sort of a query takes a page, which Spark makes of 16 MB: some seventy in the largest view. Plans of a
    # thousand statements are kept for Spark's UI.
    "spark.buffer.pageSize": "1m",
    "spark.sql.ui.retainedExecutions": "10",
}
_SHORT_LIVED = " ".join(
    [
        *(f"--conf {name}={value}" for name, value in _RUN_ONCE.items()),
        "--driver-memory 2g",  # of the default, 1 GB, hundreds of tests leave too little for the largest view
        '--driver-java-options "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" pyspark-shell',
    ]
)


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """The one session of the run, as the jobs make it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", _SHORT_LIVED)
        remember_names(patch)
        from kafka_lagoon.delta.session import session  # noqa: PLC0415  no cost for tests without Spark

        made = session("tests")
        made.sparkContext.setLogLevel("OFF")
        _leave_other_jvms_alone(patch)
        yield made
        made.stop()


def _leave_other_jvms_alone(patch: pytest.MonkeyPatch) -> None:
    """Let calls of Kafka's classes in a JVM of their own raise what py4j raises: PySpark asks Spark's JVM about all errors."""
    from py4j import java_gateway, protocol  # noqa: PLC0415  as above
    from pyspark import SparkContext  # noqa: PLC0415

    of_spark, gateway = java_gateway.get_return_value, SparkContext._gateway

    def return_value(answer: str, client: Any, *names: Any) -> Any:
        is_sparks = gateway is not None and client is gateway._gateway_client
        return (of_spark if is_sparks else protocol.get_return_value)(answer, client, *names)

    patch.setattr(java_gateway, "get_return_value", return_value)


@pytest.fixture(scope="session")
def bucket(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """A bucket of an S3 that excludes writers, which the session reaches as s3a://lake."""
    with object_store(tmp_path_factory.mktemp("s3")) as store:
        reach(spark, store)
        yield store


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory, tools: ToolsOfReleases) -> Iterator[Secured]:
    """One broker of Kafka 4.4.0 with listeners of every kind that clients must authenticate at."""
    with secured_kafka(tmp_path_factory.mktemp("secured"), "4.4.0") as broker:
        tools.give_to(broker.kafka)
        yield broker


@pytest.fixture(scope="session")
def secured_392(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """The same of Kafka 3.9.2."""
    with secured_kafka(tmp_path_factory.mktemp("secured-3.9.2"), "3.9.2") as broker:
        yield broker


@pytest.fixture(scope="session")
def secured_282(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """The same of Kafka 2.8.2, with permissions that ZooKeeper keeps, and without a check of signed tokens."""
    with secured_kafka(tmp_path_factory.mktemp("secured-2.8.2"), "2.8.2") as broker:
        yield broker


@pytest.fixture(scope="session")
def administered(tmp_path_factory: pytest.TempPathFactory, tools: ToolsOfReleases) -> Iterator[Administered]:
    """Three brokers of Kafka 4.4.0 for tests that alter the cluster, with permissions."""
    with administered_kafka(tmp_path_factory.mktemp("administered"), tools.of(DEFAULT_VERSION)) as cluster:
        yield cluster


@pytest.fixture
def state() -> FakeCluster:
    """A cluster with one topic of six partitions on three brokers."""
    state = FakeCluster()
    state.add_topic("orders", 6)
    return state


@pytest.fixture
def brokers(state: FakeCluster) -> Iterator[dict[int, FakeBroker]]:
    """The cluster's brokers, running."""
    with fake_cluster(state) as running:
        yield running


@pytest.fixture
def connect(state: FakeCluster, brokers: dict[int, FakeBroker]) -> Iterator[Callable[..., Cluster]]:  # noqa: ARG001
    """Connects to the cluster; closed after the test."""
    with ExitStack() as stack:

        def connected(**settings: int) -> Cluster:
            deadline = Deadline.after(CLOCK, 5_000)
            cluster = Cluster.connect(short_timeouts(state, **settings), CLOCK, RequestStats(), deadline)
            return stack.enter_context(cluster)

        yield connected


@pytest.fixture(scope="session")
def new_lake(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all tables and no rows, to be copied: that is quicker than making the tables."""
    from tests.warehouses import open_at  # noqa: PLC0415  not for tests without Spark

    lake = tmp_path_factory.mktemp("new") / "lake"
    open_at(spark, lake)
    return lake


@pytest.fixture
def warehouse(spark: "SparkSession", new_lake: Path, tmp_path: Path) -> "Warehouse":
    """An empty warehouse in a folder. Its tables are not checked again, which would cost half a second of each test."""
    from kafka_lagoon.delta.open_warehouse import at_path  # noqa: PLC0415  as above

    shutil.copytree(new_lake, tmp_path / "warehouse")
    return at_path(spark, str(tmp_path / "warehouse"))
