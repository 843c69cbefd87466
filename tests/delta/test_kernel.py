"""Files, transaction ids and next offsets become part of a table in one commit, with any other commits in between."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import deltalake
import pyarrow.parquet as pq
import pytest
from py4j.clientserver import ClientServerConnection
from py4j.protocol import Py4JJavaError

from kafka_lagoon.delta.files import DataFile, Statistics, Value
from kafka_lagoon.delta.kernel import Fence, Kernel
from kafka_lagoon.delta.kernel_errors import Conflict, Fenced
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.tables.record_tables import INGEST_DATE, RECORD_TABLES, RECORDS
from tests.warehouses import records_like

DAY = (INGEST_DATE, date(2026, 11, 21))
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def described(warehouse: Warehouse, name: str, topic: str = "t", offsets: tuple[int, int] = (0, 9)) -> DataFile:
    """Describe a file for the log; it need not exist as long as it is not read."""
    least: dict[str, Value] = {"topic": topic, "partition": 0, "offset": offsets[0], "timestamp": NOON}
    statistics = Statistics(
        rows=10, least=least, greatest={**least, "offset": offsets[1]}, nulls=dict.fromkeys(least, 0)
    )
    url = f"{warehouse.locations['records']}/{INGEST_DATE}={DAY[1]}/{name}.parquet"
    return DataFile(url=url, size=1, modified_at_ms=1, statistics=statistics)


def written(warehouse: Warehouse, name: str, topic: str, first_offset: int) -> DataFile:
    """Write a real file of ten records."""
    file = described(warehouse, name, topic, (first_offset, first_offset + 9))
    path = Path(file.url.removeprefix("file:"))
    path.parent.mkdir(exist_ok=True)
    pq.write_table(records_like(topic, first_offset, 10), path)
    return DataFile(url=file.url, size=path.stat().st_size, modified_at_ms=1, statistics=file.statistics)


def append(warehouse: Warehouse, *files: DataFile) -> int:
    """Add files to the latest version of `records`."""
    return warehouse.kernel.append(warehouse.state("records"), files, DAY)


@pytest.mark.proof
@pytest.mark.parametrize("table", RECORD_TABLES, ids=lambda table: table.name)
def test_readers_of_version_1_do(warehouse: Warehouse, table) -> None:
    """Next offsets are domain metadata, which need a newer writer but not a newer reader."""
    state = warehouse.state(table.name)
    protocol = deltalake.DeltaTable(warehouse.locations[table.name]).protocol()
    assert state.reader_version == protocol.min_reader_version == 1
    assert state.partition_by == (INGEST_DATE,)
    assert ("domainMetadata" in (protocol.writer_features or ())) == (table is RECORDS)


def test_files_fence_and_position_are_one_commit(warehouse: Warehouse) -> None:
    """One version adds the files, the transaction id and the next offset, and readers find every record."""
    files = [written(warehouse, "a", "t", 0), written(warehouse, "b", "u", 100)]
    before = warehouse.state("records")
    fence = Fence("app", 7)
    assert warehouse.kernel.append(before, files, DAY, fence=fence, domains={"lagoon.x": '{"t": 10}'}) == 1
    after = warehouse.state("records")
    assert warehouse.kernel.last_transaction(after, "app") == 7
    assert warehouse.kernel.domain(after, "lagoon.x") == '{"t": 10}'
    assert warehouse.kernel.domain(before, "lagoon.x") is warehouse.kernel.domain(after, "lagoon.y") is None
    seen = warehouse.spark.table(warehouse.identifiers["records"])
    assert sorted((one["topic"], one["offset"]) for one in seen.select("topic", "offset").collect()) == [
        *(("t", offset) for offset in range(10)),
        *(("u", offset) for offset in range(100, 110)),
    ]
    assert {one[INGEST_DATE] for one in seen.collect()} == {DAY[1]}
    assert deltalake.DeltaTable(warehouse.locations["records"]).to_pyarrow_table().num_rows == 20


def test_a_position_needs_no_file(warehouse: Warehouse) -> None:
    """A run that found no records still advances the next offset."""
    for number in (1, 2):
        state = warehouse.state("records")
        assert warehouse.kernel.append(state, [], DAY, domains={"lagoon.x": str(number)}) == number
    assert warehouse.kernel.domain(warehouse.state("records"), "lagoon.x") == "2"


def test_statistics_leave_out_files(warehouse: Warehouse) -> None:
    """A reader that filters by topic and offsets opens only files that may have such rows."""
    append(
        warehouse, written(warehouse, "a", "t", 0), written(warehouse, "b", "u", 0), written(warehouse, "c", "u", 50)
    )
    filtered = warehouse.spark.table(warehouse.identifiers["records"]).where("topic = 'u' AND offset >= 65")
    assert filtered.count() == 0
    assert [Path(one).stem for one in filtered.inputFiles()] == []
    filtered = warehouse.spark.table(warehouse.identifiers["records"]).where(
        f"timestamp >= '{NOON:%F %T}' AND offset = 55"
    )
    assert [Path(one).stem for one in filtered.inputFiles()] == ["c"]
    assert [Path(url).stem for url in warehouse.kernel.files(warehouse.state("records"), {"topic": "u"})] == ["b", "c"]


def test_thousands_of_files_are_one_commit(warehouse: Warehouse) -> None:
    """A run may add as many files as there are partitions."""
    append(warehouse, *(described(warehouse, f"{number:x}") for number in range(3_000)))
    assert len(warehouse.kernel.files(warehouse.state("records"), {"topic": "t"})) == 3_000
    assert not warehouse.kernel.files(warehouse.state("records"), {"topic": "another"})


def test_names_are_looked_up_once(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lookup of a class or a package is a request to the JVM: the second commit and search ask for none of the Kernel's."""
    requests: list[str] = []
    send = ClientServerConnection.send_command

    def noted(self: ClientServerConnection, command: str) -> str:
        if command.startswith("r\n") and "io.delta.kernel" in command:
            requests.append(command)
        return send(self, command)

    monkeypatch.setattr(ClientServerConnection, "send_command", noted)
    for name in ("first", "second"):
        lookups = len(requests)
        append(warehouse, described(warehouse, name))
        assert warehouse.kernel.files(warehouse.state("records"), {"topic": "t", INGEST_DATE: DAY[1]})
    assert 0 < lookups == len(requests)


@pytest.mark.proof
def test_compaction_meanwhile_is_no_obstacle(warehouse: Warehouse) -> None:
    """A run that began before OPTIMIZE commits after it; transaction ids and next offsets survive both."""
    fence = Fence("app", 1)
    first = [written(warehouse, "a", "t", 0), written(warehouse, "b", "t", 10)]
    warehouse.kernel.append(warehouse.state("records"), first, DAY, fence=fence, domains={"lagoon.x": "10"})
    begun = warehouse.state("records")
    warehouse.spark.sql(f"OPTIMIZE {warehouse.identifiers['records']}")
    next_one = written(warehouse, "c", "t", 20)
    assert warehouse.kernel.append(begun, [next_one], DAY, fence=Fence("app", 2), domains={"lagoon.x": "20"}) == 3
    after = warehouse.state("records")
    assert (warehouse.kernel.last_transaction(after, "app"), warehouse.kernel.domain(after, "lagoon.x")) == (2, "20")
    assert warehouse.spark.table(warehouse.identifiers["records"]).count() == 30


def test_a_used_fence_lets_nothing_pass(warehouse: Warehouse) -> None:
    """The second commit with a transaction id is an error and adds nothing, at once or later; other ids are free."""
    ours, theirs = warehouse.state("records"), warehouse.state("records")
    warehouse.kernel.append(theirs, [described(warehouse, "a")], DAY, fence=Fence("app", 1))
    for state in (ours, warehouse.state("records")):
        with pytest.raises(Fenced):
            warehouse.kernel.append(state, [described(warehouse, "b")], DAY, fence=Fence("app", 1))
    warehouse.kernel.append(ours, [described(warehouse, "c")], DAY, fence=Fence("another", 1))
    files = warehouse.kernel.files(warehouse.state("records"), {"topic": "t"})
    assert sorted(Path(url).stem for url in files) == ["a", "c"]


def test_a_position_that_another_run_moved_is_not_overwritten(warehouse: Warehouse) -> None:
    """Of two concurrent runs that set one next offset, the second fails, and its files are not added."""
    ours, theirs = warehouse.state("records"), warehouse.state("records")
    warehouse.kernel.append(theirs, [], DAY, domains={"lagoon.x": "1"})
    with pytest.raises(TableError, match=r"cannot be appended to: .*same domain: lagoon\.x"):
        warehouse.kernel.append(ours, [described(warehouse, "a")], DAY, domains={"lagoon.x": "2"})
    warehouse.kernel.append(ours, [], DAY, domains={"lagoon.y": "2"})
    assert warehouse.kernel.domain(warehouse.state("records"), "lagoon.x") == "1"
    assert not warehouse.kernel.files(warehouse.state("records"), {"topic": "t"})


def test_a_file_must_be_the_tables_own(warehouse: Warehouse) -> None:
    """A file outside the table's folder is refused, because VACUUM and copies of the table would miss it."""
    strange = replace(described(warehouse, "a"), url=f"{warehouse.locations['records']}-elsewhere/a.parquet")
    with pytest.raises(TableError, match=r"records-elsewhere/a\.parquet is not below "):
        append(warehouse, strange)


def test_any_name_will_do(warehouse: Warehouse) -> None:
    """Characters that paths in the log must escape are escaped."""
    append(warehouse, written(warehouse, "100% a+b 'c'#?", "t", 0))
    assert warehouse.spark.table(warehouse.identifiers["records"]).count() == 10


def java_error(name: str, message: str, **methods: Any) -> Any:
    """Stand for an exception of Java, or for the proxy of its cause."""
    methods |= {"getMessage": message, "getClass": SimpleNamespace(getSimpleName=lambda: name)}
    return SimpleNamespace(_target_id="o1", **{method: lambda value=value: value for method, value in methods.items()})


@pytest.mark.parametrize(
    ("is_conflict", "expected", "text"),
    [
        (True, Conflict, "lake/t"),
        (False, TableError, r"lake/t cannot be written: Failed: No space left on device \(CommitFailedException\)"),
    ],
    ids=["another was first", "the disk is full"],
)
def test_a_commit_that_is_given_up(is_conflict: bool, expected: type[Exception], text: str) -> None:
    """The Kernel gives up with the same error whatever the attempt failed by; only another commit is a conflict."""
    attempt = java_error("CommitFailedException", "Failed: No space left on device", isConflict=is_conflict)
    given_up = java_error("MaxCommitRetryLimitReachedException", "Commit attempt failed", getCause=attempt)
    state = MagicMock(partition_by=("snapshot_date",), location="lake/t")
    builder = state.snapshot.buildUpdateTableTransaction.return_value.withMaxRetries.return_value
    builder.build.return_value.commit.side_effect = Py4JJavaError("failed", given_up)
    kernel = Kernel(classes=MagicMock(), engine=MagicMock(), storage=MagicMock())
    with pytest.raises(expected) as raised:
        kernel.replace(state, [], {}, 1)
    assert re.fullmatch(text, str(raised.value))


def test_a_table_that_is_not_created_says_why() -> None:
    """The Kernel tries again while the disk is full, and its last error has only the number of attempts."""
    attempt = java_error("CommitFailedException", "Failed: No space left on device")
    given_up = java_error("MaxCommitRetryLimitReachedException", "Commit attempt failed", getCause=attempt)
    kernel = Kernel(classes=MagicMock(), engine=MagicMock(), storage=MagicMock())
    built = kernel.classes.TableManager.buildCreateTableTransaction.return_value
    builder = built.withTableProperties.return_value.withDataLayoutSpec.return_value
    builder.build.return_value.commit.side_effect = Py4JJavaError("failed", given_up)
    with pytest.raises(TableError) as raised:
        kernel.create("lake/t", {}, "day", {})
    assert str(raised.value) == "lake/t cannot be created: Failed: No space left on device (CommitFailedException)"


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda kernel, state: kernel.refuse_unwritable(state), "lake/t cannot be appended to"),
        (lambda kernel, state: kernel.append(state, [], DAY), "lake/t cannot be appended to"),
        (lambda kernel, state: kernel.replace(state, [], {}, 1), "lake/t cannot be written"),
        (lambda kernel, state: kernel.set_properties(state, {}), "properties of lake/t cannot be set"),
    ],
    ids=["before an append", "append", "replace", "properties"],
)
def test_a_feature_that_the_kernel_does_not_write(write: Callable[[Kernel, Any], object], text: str) -> None:
    """Every write to such a table is refused in one line, and so is asking whether it can be appended to."""
    state = MagicMock(partition_by=("snapshot_date",), location="lake/t")
    refused = java_error("KernelException", "Unsupported Delta writer feature: checkConstraints")
    state.snapshot.buildUpdateTableTransaction.side_effect = Py4JJavaError("failed", refused)
    kernel = Kernel(classes=MagicMock(), engine=MagicMock(), storage=MagicMock())
    with pytest.raises(TableError, match=f"^{text}: Unsupported Delta writer feature: checkConstraints"):
        write(kernel, state)


@pytest.mark.parametrize(
    "read",
    [
        lambda kernel, state: kernel.domain(state, "lagoon.x"),
        lambda kernel, state: kernel.domains(state),
        lambda kernel, state: kernel.last_transaction(state, "app"),
        lambda kernel, state: kernel.files(state, {}),
        lambda kernel, state: kernel.described_files(state, {}),
        lambda kernel, state: kernel.live_files(state),
    ],
    ids=["domain", "domains", "transaction", "files", "described files", "live files"],
)
def test_a_log_that_fails_after_the_version_was_found(read: Callable[[Kernel, Any], object]) -> None:
    """The Kernel reads the rest of a log later: a checkpoint whose parts are gone is an error in one line."""
    state = MagicMock(partition_by=("snapshot_date",), location="lake/t")
    failed = Py4JJavaError(
        "failed", java_error("KernelEngineException", "Error reading Parquet file: _sidecars/1.parquet")
    )
    snapshot = state.snapshot
    for method in ("getDomainMetadata", "getActiveDomainMetadataMap", "getLatestTransactionVersion"):
        getattr(snapshot, method).side_effect = failed
    batches = snapshot.getScanBuilder.return_value.build.return_value.getScanFiles.return_value
    batches.hasNext.side_effect = failed
    kernel = Kernel(classes=MagicMock(), engine=MagicMock(), storage=MagicMock())
    with pytest.raises(TableError, match=r"^lake/t cannot be read: Error reading Parquet file: _sidecars/1\.parquet"):
        read(kernel, state)


def test_what_an_append_needs_is_asked_without_a_commit() -> None:
    """Domain metadata are a feature, too: the transaction sets them, and is not committed."""
    state = MagicMock(location="lake/t")
    Kernel(classes=MagicMock(), engine=MagicMock(), storage=MagicMock()).refuse_unwritable(state, {"lagoon.x": ""})
    builder = state.snapshot.buildUpdateTableTransaction.return_value.withMaxRetries.return_value
    transaction = builder.build.return_value
    transaction.addDomainMetadata.assert_called_once_with("lagoon.x", "")
    transaction.commit.assert_not_called()


def test_retries_have_a_limit() -> None:
    """Each retry lasts minutes where a store is away: a commit is not tried as often as the Kernel would."""
    state = MagicMock(location="lake/t")
    kernel = Kernel(classes=MagicMock(), engine=MagicMock(), storage=MagicMock())
    kernel.append(state, [], DAY)
    kernel.set_properties(state, {})
    builder = state.snapshot.buildUpdateTableTransaction.return_value
    for limited in (builder, builder.withTablePropertiesAdded.return_value):
        ((retries,), _) = limited.withMaxRetries.call_args
        assert retries <= 30
