"""Makes the commits that an ingest of the source cluster left pending when it died, before a restore reads its tables.

An ingest commits records before their rows of record_ranges and record_problems. A restore finds records by their ranges, and
the bytes of header keys by problems. No later ingest makes these commits if the source cluster does not exist any more.
"""

from collections.abc import Iterator, Sequence

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import NeedsSession, TableError
from kafka_lagoon.ingest.pending_commits import archived_clusters, commit_pending_of_cluster, pending_rows
from kafka_lagoon.tables.record_tables import RECORD_RANGES


def commit_pending_of(warehouse: Warehouse, cluster: str, clock: Clock) -> None:
    """Make the pending commits of a cluster's last ingest; `cluster` is its name, or its id in Kafka.

    LockHeld if other runs commit for too long; TableError if the commits cannot be made.
    """
    for cluster_id in _ids(warehouse, cluster):
        table = pending_rows(warehouse, cluster_id)
        if table is None:
            continue
        try:
            commit_pending_of_cluster(warehouse, cluster_id, clock)
        except NeedsSession:
            raise
        except TableError as error:
            raise TableError(f"{_pending(cluster_id, table)}, which cannot be added: {error}") from error


def refuse_pending(warehouse: Warehouse, cluster: str, known_ids: Sequence[str] = ()) -> None:
    """TableError if commits of a cluster's last ingest are pending; `known_ids` are the cluster's ids in ranges.

    Call it between reading ranges and problems, so that the problems of these ranges are committed.
    """
    for cluster_id in dict.fromkeys([*_ids(warehouse, cluster), *known_ids]):
        if table := pending_rows(warehouse, cluster_id):
            raise TableError(
                f"{_pending(cluster_id, table)}: wait until it has ended; if it was killed, `lagoon maintain` or the next "
                "ingest adds them"
            )


def _ids(warehouse: Warehouse, cluster: str) -> Iterator[str]:
    """The ids of archived clusters that may have this name or id.

    A cluster whose first ingest died has no ranges yet, so its name is not known. Version 0.1.0 stored no names.
    """
    state = warehouse.state(RECORD_RANGES.name)
    has_names = any(field["name"] == "cluster" for field in state.schema["fields"])
    for cluster_id in archived_clusters(warehouse):
        of_id = {"cluster_id": cluster_id}
        of_name = {**of_id, "cluster": cluster} if has_names else of_id
        if cluster_id == cluster or warehouse.kernel.files(state, of_name) or not warehouse.kernel.files(state, of_id):
            yield cluster_id


def _pending(cluster_id: str, table: str) -> str:
    return f"the last ingest of cluster {cluster_id} has committed its records, and table {table} lacks rows about them"
