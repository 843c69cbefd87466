"""Tables in Google Cloud Storage, on Google's own test server for storage clients: two writers never make the same version.

Hadoop's connector and Arrow are the real ones; the server looks at conditions of requests and at no credentials.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from kafka_lagoon.delta.java_classes import OBJECT_LOG_STORE
from kafka_lagoon.delta.maintain import MaintainOptions, maintain
from kafka_lagoon.delta.open_warehouse import at_path, open_warehouse
from kafka_lagoon.errors import TableError
from tests.clock import CLOCK
from tests.delta.commit_races import WRITERS, assert_one_of_several_writers_wins, race
from tests.delta.test_s3_races import assert_all_is_there
from tests.google_store import BUCKET, GoogleStore, google_store, of_arrow, reach_google
from tests.warehouses import settings

pytestmark = [pytest.mark.proof, pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def store(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoogleStore]:
    """A bucket that the session opens as gs://lake."""
    with google_store() as served, pytest.MonkeyPatch.context() as patch:
        environ = of_arrow(served, tmp_path_factory.mktemp("google"))
        for name, value in environ.items():
            patch.setenv(name, value)
        reach_google(spark, served, environ)
        yield served


def a_lake() -> str:
    """Return a place that no other test uses."""
    return f"gs://{BUCKET}/{uuid4().hex}"


def read_copy(store: GoogleStore, location: str, folder: Path, table: str, *columns: str) -> list[tuple[object, ...]]:
    """Return the rows of a table as delta-rs reads them from a copy of its objects."""
    prefix = f"{location.rpartition('/')[2]}/{table}"
    store.copy(prefix, folder)
    rows = DeltaTable(str(folder / prefix)).to_pyarrow_table(columns=list(columns)).to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def test_the_server_of_these_tests_excludes(store: GoogleStore) -> None:
    """Of four clients that create one object at once, one succeeds: without this the other tests prove nothing."""
    answers: Counter[int] = Counter()

    def create(path: str, content: bytes) -> None:
        answers[store.request("POST", path, content)[0]] += 1

    for number in range(20):
        path = f"/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name=race/{number}&ifGenerationMatch=0"
        writers = [threading.Thread(target=create, args=(path, b"%d" % one)) for one in range(WRITERS)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
    assert answers == {200: 20, 412: 60}


def test_one_of_several_writers_wins(spark: SparkSession, store: GoogleStore) -> None:  # noqa: ARG001  serves the bucket
    """Our own log store is used without a setting."""
    warehouse = at_path(spark, a_lake())
    assert warehouse.kernel.storage.conf.get("io.delta.kernel.logStore.gs.impl") == OBJECT_LOG_STORE
    assert_one_of_several_writers_wins(warehouse)


def test_a_store_that_is_busy_once(spark: SparkSession, store: GoogleStore) -> None:
    """A batch that is refused is sent again: by the Kernel's log store, and for files."""
    warehouse = open_warehouse(spark, settings(f"warehouse={a_lake()}"), CLOCK)
    storage, file = warehouse.kernel.storage, f"{warehouse.name}/file"
    requests = {
        "log": lambda: warehouse.state("snapshots").version,
        "write": lambda: storage.write(file, b"four").size,
        "size": lambda: storage.size(file),
        "listed": lambda: len(storage.listed(f"{warehouse.locations['snapshots']}/_delta_log")),
        "delete": lambda: storage.delete(file),
        "exists": lambda: storage.exists(file),
    }
    answers = {}
    for name, request in requests.items():
        assert store.request("POST", "/busy/2")[0] == 200
        answers[name] = request()
    assert answers == {"log": 0, "write": 4, "size": 4, "listed": 1, "delete": None, "exists": False}
    store.request("POST", "/busy/9")
    with pytest.raises(TableError, match=r"^gs://.* cannot be read: .*503"):
        storage.exists(file)
    store.request("POST", "/busy/0")


def test_runs_race(spark: SparkSession, store: GoogleStore, tmp_path: Path) -> None:
    """Snapshots, ingests and maintenance at once: every row exists once."""
    location, count = a_lake(), 3
    warehouse = open_warehouse(spark, settings(f"warehouse={location}"), CLOCK)
    racers = {"snapshot": range(2), "ingest": range(2)}
    race(warehouse, racers, count)
    read = partial(read_copy, store, location)
    assert_all_is_there(partial(read, tmp_path / "before"), racers, dict.fromkeys(racers, count))
    maintain(warehouse, MaintainOptions(), CLOCK)
    assert_all_is_there(partial(read, tmp_path / "after"), racers, dict.fromkeys(racers, count))
