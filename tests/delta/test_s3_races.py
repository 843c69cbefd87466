"""Writers without a lock commit to one lake on S3: nothing is lost, nothing is doubled, each version is made once."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

import deltalake
import pytest
from pyspark.sql import SparkSession

from kafka_lagoon.delta.open_warehouse import open_warehouse
from tests.clock import CLOCK
from tests.delta.commit_races import race
from tests.delta.s3_racer import A_RUN
from tests.delta.test_log_store import COMMIT, a_lake
from tests.object_store import BUCKET, ObjectStore
from tests.warehouses import settings

ROLES = {"snapshot": 4, "ingest": 3, "maintain": 1}
TIMES = {"snapshot": 10, "ingest": 25, "maintain": 1}  # fifty commits: a snapshot is five, an ingest two
WRITTEN = ("brokers", "topics", "consumer_groups", "consumer_lag", "snapshots")


def rows(store: ObjectStore, location: str, table: str, *columns: str) -> list[tuple[object, ...]]:
    """Read rows of a table with delta-rs, whose S3 client is neither Hadoop's nor Arrow's."""
    url = f"{location.replace('s3a:', 's3:')}/{table}"
    arrow = deltalake.DeltaTable(url, storage_options=store.delta_rs()).to_pyarrow_table(columns=list(columns))
    return sorted(tuple(row.values()) for row in arrow.to_pylist())


def assert_each_version_was_made_once(store: ObjectStore, location: str) -> int:
    """Check that one PUT of each version succeeded, and none is missing; return the number of refused ones."""
    prefix = f"/{BUCKET}/{location.rpartition('/')[2]}/"
    puts = [
        one
        for one in store.requests()
        if one.method == "PUT" and one.path.startswith(prefix) and COMMIT.fullmatch(one.path)
    ]
    won = Counter(one.path for one in puts if one.status == 200)
    assert set(won.values()) == {1}
    versions: dict[str, list[int]] = {}
    for path in won:
        table, _, name = path.partition("/_delta_log/")
        versions.setdefault(table, []).append(int(name.removesuffix(".json")))
    for table, numbers in versions.items():
        assert sorted(numbers) == list(range(len(numbers))), table
    return len(puts) - len(won)


def assert_all_is_there(
    read: Callable[..., list[tuple[object, ...]]], racers: Mapping[str, range], times: Mapping[str, int]
) -> None:
    """Check that every snapshot is whole, and every record and range exists once; `read` returns columns of a table."""
    expected = sorted(
        f"0192-{round_number:04d}-cluster-{number}"
        for number in racers["snapshot"]
        for round_number in range(1, times["snapshot"] + 1)
    )
    for table in WRITTEN:
        rows_each = 3 if table == "consumer_lag" else 1
        assert read(table, "snapshot_id") == [(one,) for one in expected for _ in range(rows_each)], table
    upto = times["ingest"] * A_RUN
    assert read("records", "cluster_id", "offset") == [
        (f"id-{number}", offset) for number in racers["ingest"] for offset in range(upto)
    ]
    assert read("record_ranges", "cluster_id", "from_offset", "to_offset") == [
        (f"id-{number}", start, start + A_RUN) for number in racers["ingest"] for start in range(0, upto, A_RUN)
    ]


@pytest.mark.proof
def test_threads_race(spark: SparkSession, bucket: ObjectStore) -> None:
    """Four writers of one process: versions that others have made first are tried again with the next number."""
    location, count = a_lake(), 2
    warehouse = open_warehouse(spark, settings(f"warehouse={location}"), CLOCK)
    racers = {"snapshot": range(2), "ingest": range(2)}
    race(warehouse, racers, count)
    assert assert_each_version_was_made_once(bucket, location) > 0
    assert_all_is_there(partial(rows, bucket, location), racers, {"snapshot": count, "ingest": count})


@pytest.mark.proof
@pytest.mark.timeout(3600)
def test_processes_race(spark: SparkSession, bucket: ObjectStore) -> None:
    """Eight processes, fifty commits each: snapshots into the same tables, ingests into others, and maintenance of all."""
    location = a_lake()
    open_warehouse(spark, settings(f"warehouse={location}"), CLOCK)
    racers = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.delta.s3_racer",
                str(bucket.folder),
                location,
                role,
                str(number),
                str(TIMES[role]),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for role, several in ROLES.items()
        for number in range(several)
    ]
    try:
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        done = [racer.communicate()[0].strip() for racer in racers[:-1]]
        (bucket.folder / "stop").touch()
        done.append(racers[-1].communicate()[0].strip())
    finally:
        for racer in racers:
            racer.kill()
    refused = assert_each_version_was_made_once(bucket, location)
    print(f"{refused} commits were refused and tried again; maintenance ran {done[-1]} times")
    assert done[:-1] == ["10"] * 4 + ["25"] * 3
    assert int(done[-1]) >= 1
    assert refused > 50
    assert_all_is_there(
        partial(rows, bucket, location), {role: range(several) for role, several in ROLES.items()}, TIMES
    )
