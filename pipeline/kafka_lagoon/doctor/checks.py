"""The checks of `lagoon doctor` in their order: this machine, the settings, each cluster, the warehouse, Spark."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.doctor import installation, versions
from kafka_lagoon.doctor.results import FAILED, Check, Result, run_alone
from kafka_lagoon.errors import JarsUnavailable, TableError
from kafka_lagoon.folders import place_for_temporary_files
from kafka_lagoon.frozen import frozen

if TYPE_CHECKING:  # each is imported by its check, so that what does not load here keeps only that check from running
    from kafka_lagoon.client.cluster import Cluster
    from kafka_lagoon.doctor.connections import Server
    from kafka_lagoon.doctor.permissions import Needs
    from kafka_lagoon.kafka_settings import KafkaSettings
    from kafka_lagoon.settings import Settings

    Servers = dict[str, Sequence[Server]]

_MACHINE = (
    ("python", versions.python),
    ("java", versions.java),
    ("spark", versions.spark),
    ("packages", versions.packages),
    ("jars", installation.jars),
    ("kernels", installation.kernels),
    ("class archive", installation.class_archives),
)

_OF_JVMS = frozenset({"java", "jars", "class archive"})  # of no use on a machine that only reads tables


@frozen
class Examination:
    """The settings, clusters and options of a check run; `settings` is None if they are missing or have faults."""

    settings: "Settings | None"
    clusters: "dict[str, KafkaSettings]"
    needs: "Sequence[Needs]"
    clock: Clock
    timeout_ms: int
    conf: Path | None = None
    with_spark: bool = False
    master: str | None = None

    def deadline(self) -> Deadline:
        """The deadline for each part of the checks of a cluster."""
        return Deadline.after(self.clock, self.timeout_ms)


def machine() -> Iterator[Result]:
    """Run the checks that need no settings."""
    has_spark = versions.has_spark()
    for name, make in _MACHINE:
        if name in _OF_JVMS and not has_spark:
            yield Check(name, name).not_checked("there is no Spark here: only jobs need it")
        else:
            yield from run_alone(Check(name, name), make)


def examine(examination: Examination) -> Iterator[Result]:
    """Check the clusters and places that the settings name."""
    servers: Servers = {}
    names = dict[str, str]()
    for name, kafka in examination.clusters.items():
        yield from run_alone(Check("secrets", name), partial(_secrets, name, kafka, examination.conf))
        yield from run_alone(Check("certificate", name), partial(_own_certificate, name, kafka, examination.clock))
        yield from run_alone(Check("connection", name), partial(_cluster, examination, name, kafka, servers, names))
    if not examination.clusters:
        yield Check("connection", "clusters").not_checked("no cluster is known", "give --conf FILE, or -b HOST:PORT")
    yield from _places(examination)
    yield from _spark(examination, servers)


def _secrets(name: str, kafka: "KafkaSettings", conf: Path | None) -> Iterator[Result]:
    """Check that references to secrets can be resolved, and that others cannot read the file that may hold them."""
    secrets = kafka.secrets()
    for secret in secrets:
        secret.reveal()
    if secrets:
        yield Check("secrets", name).ok(f"{len(secrets)} can be read")
    if conf and any(secret.is_text() for secret in secrets) and conf.stat().st_mode & 0o044:
        yield Check("secrets", str(conf)).warning(
            "others on this machine can read this file, and it may hold secrets",
            f"chmod 600 {conf}, or write secrets as env:NAME or file:/path",
        )


def _own_certificate(name: str, kafka: "KafkaSettings", clock: Clock) -> Iterator[Result]:
    from kafka_lagoon.doctor.certificates import of_client  # noqa: PLC0415

    return of_client(name, kafka, clock.now_ms())


def _cluster(
    examination: Examination, name: str, kafka: "KafkaSettings", servers: "Servers", names: dict[str, str]
) -> Iterator[Result]:
    """Check the bootstrap servers, then the brokers, then clock and permissions; `names` has cluster ids with their names."""
    from kafka_lagoon.client.agreement import agree_on_brokers  # noqa: PLC0415
    from kafka_lagoon.client.cluster import Cluster  # noqa: PLC0415
    from kafka_lagoon.client.request_stats import RequestStats  # noqa: PLC0415
    from kafka_lagoon.doctor import connections  # noqa: PLC0415

    shared = connections.access(kafka, examination.clock)
    servers[name] = connections.bootstrap_servers(kafka)
    results = list(connections.connect_each(name, servers[name], shared, examination.deadline()))
    yield from results
    if all(result.status == FAILED for result in results if result.check == "connection"):
        return
    with Cluster.connect(kafka, examination.clock, RequestStats(), examination.deadline()) as cluster:
        agree_on_brokers(cluster, examination.deadline())
        if cluster.cluster_id is not None and (other := names.setdefault(cluster.cluster_id, name)) != name:
            yield Check("cluster id", name).warning(
                f"{cluster.cluster_id}, as {other} has: the tables get everything about this cluster twice",
                f"keep one of [clusters.{other}] and [clusters.{name}], unless both histories are wanted",
            )
        servers[name] = connections.brokers(cluster)
        for refusal in cluster.refusals:
            subject = Check("connection", f"{name}: {refusal.scope}")
            yield subject.failed(f"{refusal.name}: {refusal.message}", "check the broker's advertised.listeners")
        seen = {(server.host, server.port) for server in connections.bootstrap_servers(kafka)}
        others = connections.connect_each(name, servers[name], shared, examination.deadline(), known=seen)
        yield from others
        yield from _of_cluster(examination, name, cluster)


def _of_cluster(examination: Examination, name: str, cluster: "Cluster") -> Iterator[Result]:
    from kafka_lagoon.doctor.clocks import clock_skew  # noqa: PLC0415
    from kafka_lagoon.doctor.permissions import permissions  # noqa: PLC0415

    parts: Sequence[tuple[str, Callable[[], Iterator[Result]]]] = (
        ("clock", lambda: clock_skew(name, cluster, examination.deadline())),
        ("permissions", lambda: permissions(name, cluster, examination.needs, examination.deadline())),
    )
    for check, make in parts:
        yield from run_alone(Check(check, name), make)


def _places(examination: Examination) -> Iterator[Result]:
    """Check the warehouse as far as possible without Spark, and the disks that runs write to."""
    from kafka_lagoon.doctor import warehouse  # noqa: PLC0415
    from kafka_lagoon.jars.locked_jars import cache_folder  # noqa: PLC0415

    place = _local_warehouse(examination)
    disks = []
    try:
        with place_for_temporary_files():
            disks.append(("temporary files", Path(tempfile.gettempdir())))
    except TableError as error:
        yield Check("disk", "temporary files").failed(str(error))
    with suppress(JarsUnavailable):  # no folder for caches: the check of the jars says so
        disks.append(("cache", cache_folder()))
    if isinstance(place, Result):
        yield place
    else:
        is_created = examination.settings is not None and _is_created(examination.settings)
        yield from run_alone(Check("warehouse", str(place)), partial(warehouse.folder, place, is_created=is_created))
        yield from run_alone(Check("locks", str(place)), partial(warehouse.locks, place))
        yield from run_alone(Check("archive", str(place)), partial(_archive, place))
        disks.insert(0, ("warehouse", place))
    for what, path in disks:
        yield from run_alone(Check("disk", str(path)), partial(warehouse.free_space, what, path))


def _is_created(settings: "Settings") -> bool:
    """Return True if a run may create the warehouse, or if it exists."""
    from kafka_lagoon.warehouse_settings import creation_fault  # noqa: PLC0415

    return creation_fault(settings) is None


def _archive(place: Path) -> Iterator[Result]:
    from kafka_lagoon.doctor.archive import copies  # noqa: PLC0415

    return copies(place)


def _local_warehouse(examination: Examination) -> Path | Result:
    """The folder of the tables, or a result that says why it is not checked."""
    settings = examination.settings
    if settings is None or not (settings.warehouse or settings.catalog):
        return Check("warehouse", "warehouse").not_checked("the settings name no place for tables", "give --warehouse")
    from kafka_lagoon.warehouse_urls import local_folder  # noqa: PLC0415

    folder = local_folder(settings.warehouse) if settings.warehouse else None
    if folder is not None:
        return folder
    check = Check("warehouse", settings.place())
    if not settings.warehouse:
        return check.not_checked("tables of a catalog are checked by the first run")
    return check.not_checked("only Spark reaches it", None if examination.with_spark else "lagoon doctor --executors")


def _spark(examination: Examination, servers: "Servers") -> Iterator[Result]:
    if not examination.with_spark:
        yield Check("executors", "Spark").not_checked("Spark was not started", "lagoon doctor --executors")
        return

    def look() -> Iterator[Result]:
        from kafka_lagoon.doctor.executors import Probe, on_spark  # noqa: PLC0415

        place = examination.settings.warehouse if examination.settings else None
        return on_spark(place, Probe(kafka=examination.clusters, servers=servers), examination.master)

    yield from run_alone(Check("session", "Spark"), look)
