"""Starts Spark as a job does, and checks what an ingest needs on its executors: our code, the brokers, the warehouse."""

import os
import platform
import shlex
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kafka_lagoon import __version__
from kafka_lagoon.clock import SYSTEM_CLOCK, Deadline
from kafka_lagoon.doctor.connections import Server, access, connect_each
from kafka_lagoon.doctor.results import FAILED, OK, Check, Result, run_alone
from kafka_lagoon.errors import ConfigError, PipelineError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.kafka_settings import KafkaSettings

if TYPE_CHECKING:  # Spark and Arrow may be missing
    from kafka_lagoon.delta.s3_access import S3Access
    from kafka_lagoon.delta.warehouse import Warehouse

_TIMEOUT_MS = 30_000
_SUBMIT = "PYSPARK_SUBMIT_ARGS"
_PACK = "give executors this version by --archives: conf/pack-environment.sh makes one"


@frozen
class Probe:
    """The checks of a task: connections to servers of clusters, and writing into a folder of the warehouse."""

    kafka: Mapping[str, KafkaSettings]
    servers: Mapping[str, Sequence[Server]]
    folder: str | None = None
    store: "S3Access | None" = None


@frozen
class Report:
    """The observations of a task on its machine."""

    host: str
    version: str
    python: str
    results: Sequence[Result]


def on_spark(warehouse: str | None, probe: Probe, master: str | None) -> Iterator[Result]:
    """Results of the session, the warehouse through it, and the executors; TableError if no session starts."""
    from kafka_lagoon.delta.session import session  # noqa: PLC0415  Spark

    if master and _SUBMIT not in os.environ:  # spark-submit, or the user, has said more
        os.environ[_SUBMIT] = f"--master {shlex.quote(master)} pyspark-shell"
    spark = session("lagoon doctor", warehouse)
    context = spark.sparkContext
    yield Check("session", str(context.master)).ok(f"Spark {spark.version}, {context.defaultParallelism} tasks at once")
    if warehouse:
        yield from run_alone(Check("warehouse", warehouse), lambda: _by_session(spark, warehouse))
        probe = _with_folder(spark, warehouse, probe)
    yield from _of_executors(context, probe)


def _by_session(spark: Any, path: str) -> Iterator[Result]:
    """Check that the session can write into the warehouse and that commits exclude each other, as before each run."""
    from kafka_lagoon.delta.open_warehouse import check_writable  # noqa: PLC0415

    check_writable(_warehouse(spark, path))
    yield Check("warehouse", path).ok("the driver can write there, and two commits of one version exclude each other")


def _warehouse(spark: Any, path: str) -> "Warehouse":
    from kafka_lagoon.delta.open_warehouse import at_path  # noqa: PLC0415

    return at_path(spark, path)


def _with_folder(spark: Any, path: str, probe: Probe) -> Probe:
    """Add the warehouse to the probe, unless the driver cannot reach it."""
    from kafka_lagoon.delta.hadoop_s3 import s3_access  # noqa: PLC0415

    try:
        warehouse = _warehouse(spark, path)
        return replace(probe, folder=warehouse.name, store=s3_access(warehouse.kernel.storage, warehouse.name))
    except PipelineError:
        return probe


def _of_executors(context: Any, probe: Probe) -> Iterator[Result]:
    from kafka_lagoon.delta.spark_channels import refuse_open_channels  # noqa: PLC0415
    from kafka_lagoon.delta.storage import JAVA_ERRORS, reason  # noqa: PLC0415

    check, tasks = Check("executors", str(context.master)), context.defaultParallelism
    try:
        refuse_open_channels(context, probe)
    except ConfigError as error:
        yield check.failed("; ".join(error.problems), "see docs/executors.md")
        return
    try:
        reports = context.parallelize(range(tasks), tasks).map(partial(probed, probe)).collect()
    except JAVA_ERRORS as error:
        why = reason(error)
        yield check.failed(f"a task failed: {why}", _PACK if "ModuleNotFoundError" in why else "see Spark's log")
        return
    by_host = {report.host: report for report in reports}
    for report in by_host.values():
        yield from of_report(report)


def of_report(report: Report) -> Iterator[Result]:
    """The results of one executor's machine: what is all right there in one line."""
    check = Check("executor", report.host)
    theirs, ours = (report.version, report.python), (__version__, platform.python_version())
    if theirs == ours:
        yield check.ok(f"imports Kafka Lagoon {report.version} on Python {report.python}")
    else:
        yield check.failed("Kafka Lagoon {} on Python {}; the driver has {} on {}".format(*theirs, *ours), _PACK)
    reached = [result.subject for result in report.results if result.status == OK]
    if reached:
        yield check.ok(f"reaches {', '.join(reached)}")
    bad = (result for result in report.results if result.status == FAILED)
    yield from (replace(result, subject=f"executor {report.host}: {result.subject}") for result in bad)


def probed(probe: Probe, _: int) -> Report:
    """Runs on an executor: never raises for what brokers or disks do."""
    results = [result for name in probe.servers for result in _connections(name, probe)]
    if probe.folder:
        check = Check("warehouse", probe.folder)
        results += run_alone(check, partial(_written, probe.folder, probe.store))
    return Report(host=platform.node(), version=__version__, python=platform.python_version(), results=results)


def _connections(name: str, probe: Probe) -> Iterator[Result]:
    def connect() -> Iterator[Result]:
        shared, deadline = access(probe.kafka[name], SYSTEM_CLOCK), Deadline.after(SYSTEM_CLOCK, _TIMEOUT_MS)
        results = connect_each(name, probe.servers[name], shared, deadline)
        yield from (result for result in results if result.check == "connection")

    return run_alone(Check("connection", name), connect)


def _written(folder: str, store: "S3Access | None") -> Iterator[Result]:
    """Write and remove a file as the tasks of an ingest write theirs."""
    from kafka_lagoon.delta.arrow_files import file_system  # noqa: PLC0415  Arrow

    files, path = file_system(f"{folder}/.lagoon-probe-{uuid.uuid4().hex}", store)
    with files.open_output_stream(path) as stream:
        stream.write(b"probe")
    files.delete_file(path)
    yield Check("warehouse", folder).ok("writable")
