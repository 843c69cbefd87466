"""Missing tables, columns and properties are added, and a table that is not ours is refused with one line."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from kafka_lagoon.delta.kernel import Kernel, State
from kafka_lagoon.delta.open_warehouse import at_path, open_warehouse
from kafka_lagoon.delta.prepare_tables import prepare_tables
from kafka_lagoon.delta.warehouse import Warehouse, columns_to_add
from kafka_lagoon.errors import SchemaChanged, TableError
from kafka_lagoon.tables import cluster_rows
from kafka_lagoon.tables.schema import SNAPSHOT_DATE, TABLES
from tests.clock import CLOCK
from tests.delta.samples import row, snapshot
from tests.delta.test_publish import publish_once, rows_of
from tests.warehouses import settings

BY_NAME = {table.name: table for table in TABLES}


def lacking(table: str, column: str) -> dict[str, Any]:
    """Return the Delta schema of a table without one of its columns."""
    schema = BY_NAME[table].delta_schema()
    return {**schema, "fields": [field for field in schema["fields"] if field["name"] != column]}


def test_columns_of_a_newer_version_are_added(spark: SparkSession, tmp_path: Path) -> None:
    """A table that an older version made gets the nullable columns it lacks, with comments; old rows have null there."""
    place = settings(f"warehouse={tmp_path / 'wh'}")
    older = at_path(spark, str(tmp_path / "wh"))
    older.kernel.create(older.locations["brokers"], lacking("brokers", "rack"), SNAPSHOT_DATE, {})
    warehouse = open_warehouse(spark, place, CLOCK)
    fields = {field["name"]: field for field in warehouse.state("brokers").schema["fields"]}
    assert fields["rack"]["metadata"]["comment"].startswith("broker.rack")
    publish_once(warehouse, snapshot(1, row(cluster_rows.BrokerRow, broker_id=1, rack="a")))
    assert [one["rack"] for one in rows_of(warehouse, "brokers")] == ["a"]
    assert open_warehouse(spark, place, CLOCK).state("brokers").version == 3  # the column, the statistics, the snapshot


class Refusing:
    """Stands for the session and the kernel of a table that lacks a column, which this user may not add."""

    def __init__(self, *, is_added: bool, forgets: bool = False) -> None:
        self.forgets = forgets
        self.is_added, self.statements = is_added, list[str]()
        self.storage = self

    def local(self, _: str) -> None:
        """Return no path: the table is not on this machine."""

    def sql(self, statement: str) -> None:
        """Refuse the statement."""
        self.statements.append(statement)
        raise AnalysisException("no permission to alter the table\nat line 1")

    def load(self, location: str) -> State:
        """Return the table, which another run may have given the column since the statement."""
        is_whole = self.is_added and self.statements
        return State(
            location=location,
            version=0,
            reader_version=1,
            schema=BY_NAME["brokers"].delta_schema() if is_whole else lacking("brokers", "rack"),
            partition_by=(SNAPSHOT_DATE,),
            snapshot=None,
        )

    def table_property(self, _: State, key: str) -> str | None:
        """Return something for each property that a table of ours may have, and with `forgets` for that of transactions."""
        return None if "setTransaction" in key and not self.forgets else key


def test_a_column_that_cannot_be_added() -> None:
    """After an upgrade one line says why, unless another run of the new version was quicker."""
    for is_added in (True, False):
        refusing: Any = Refusing(is_added=is_added)
        warehouse = Warehouse(
            session=refusing,
            kernel=refusing,
            name="`c`.`s`",
            in_catalog=True,
            identifiers={"brokers": "`c`.`s`.brokers"},
            locations=dict.fromkeys(BY_NAME, "s3a://b/brokers"),
        )
        cause = r"^table brokers at s3a://b/brokers lacks columns of this version \(rack\), and they cannot be added: no permission"
        with nullcontext() if is_added else pytest.raises(TableError, match=cause):
            prepare_tables(warehouse, [BY_NAME["brokers"]], CLOCK)
        assert refusing.statements[0].startswith("ALTER TABLE `c`.`s`.brokers ADD COLUMNS (rack STRING")


class New:
    """Stands for the kernel of a table that another run creates, or gives properties, in the moment of this run's commit."""

    def __init__(self, *, is_there: bool, is_overtaken: bool, properties: dict[str, str]) -> None:
        self.is_there, self.is_overtaken, self.properties = is_there, is_overtaken, properties
        self.storage = self

    def local(self, _: str) -> None:
        """Return no path: the table is not on this machine."""

    def load(self, location: str) -> State | None:
        """Return the table, if it is there; other tables are."""
        if location.endswith("/brokers") and not self.is_there:
            return None
        schema = BY_NAME["brokers"].delta_schema()
        return State(
            location=location,
            version=0,
            reader_version=1,
            schema=schema,
            partition_by=(SNAPSHOT_DATE,),
            snapshot=None,
        )

    def create(self, *_: object) -> None:
        """Refuse the commit, as the log store does after another run's."""
        self.is_there = self.is_overtaken
        raise TableError("brokers cannot be created")

    def set_properties(self, _: State, missing: dict[str, str]) -> None:
        """Refuse the commit, because another one has changed the metadata."""
        self.properties |= missing if self.is_overtaken else {}
        raise TableError("properties of brokers cannot be set")

    def table_property(self, _: State, key: str) -> str | None:
        """Return a property that the table has by now."""
        return self.properties.get(key)


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("is_overtaken", [True, False])
def test_two_runs_create_a_table_or_complete_it(is_there: bool, is_overtaken: bool) -> None:
    """Where no lock keeps them apart, the second to commit goes on with what the first has made; any other failure is one."""
    new: Any = New(is_there=is_there, is_overtaken=is_overtaken, properties={})
    locations = {name: f"s3a://b/{name}" for name in BY_NAME}
    warehouse = Warehouse(
        session=None, kernel=new, name="s3a://b", in_catalog=False, identifiers=locations, locations=locations
    )
    wanted = "properties of brokers cannot be set" if is_there else "brokers cannot be created"
    with nullcontext() if is_overtaken else pytest.raises(TableError, match=f"^{wanted}"):
        prepare_tables(warehouse, [BY_NAME["brokers"]], CLOCK)


def test_a_table_that_another_run_has_just_created(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delta Kernel refuses to create it again, and the run uses it."""
    place = settings(f"warehouse={tmp_path / 'wh'}")
    open_warehouse(spark, place, CLOCK)
    load, unseen = Kernel.load, set[str]()

    def before(self: Kernel, location: str, version: int | None = None) -> State | None:
        if location not in unseen:
            unseen.add(location)
            return None
        return load(self, location, version)

    monkeypatch.setattr(Kernel, "load", before)
    warehouse = open_warehouse(spark, place, CLOCK)
    assert {warehouse.state(name).version for name in BY_NAME} == {0}


def test_a_table_that_forgets_transactions_is_refused() -> None:
    """Transaction ids are the fence of a slot: without them a repeated run would publish it again."""
    table: Any = Refusing(is_added=True, forgets=True)
    locations = dict.fromkeys(BY_NAME, "s3a://b/brokers")
    warehouse = Warehouse(
        session=table, kernel=table, name="`c`.`s`", in_catalog=True, identifiers=locations, locations=locations
    )
    cure = r"ALTER TABLE brokers UNSET TBLPROPERTIES \('delta.setTransactionRetentionDuration'\)$"
    with pytest.raises(TableError, match=cure):
        prepare_tables(warehouse, [BY_NAME["brokers"]], CLOCK)


def test_a_table_that_is_not_ours_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """SchemaChanged names table, place and column before any request to Kafka."""
    other = at_path(spark, str(tmp_path / "wh"))
    other.kernel.create(other.locations["topics"], BY_NAME["brokers"].delta_schema(), SNAPSHOT_DATE, {})
    with pytest.raises(
        SchemaChanged, match=r"^table topics at file:.*/wh/topics is not as we made it: column broker_id"
    ):
        open_warehouse(spark, settings(f"warehouse={tmp_path / 'wh'}"), CLOCK)


def changed(**of_brokers: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of table brokers with changed fields."""
    schema = BY_NAME["brokers"].delta_schema()
    fields = [{**field, **of_brokers.get(field["name"], {})} for field in schema["fields"]]
    return {**schema, "fields": fields}


FAULTS = [
    ({"schema": changed(broker_id={"type": "long"})}, "broker_id is long not null, not integer not null"),
    ({"schema": changed(host={"nullable": False})}, "host is string not null, not string"),
    ({"schema": changed(port={"name": "porto"})}, "column porto is not ours"),
    ({"schema": lacking("brokers", "broker_id")}, "broker_id is missing"),
    ({"partition_by": ()}, "it is partitioned by nothing, not by snapshot_date"),
    ({"reader_version": 2}, "readers of version 2, not 1: ALTER TABLE brokers DROP FEATURE columnMapping$"),
    (
        {"reader_version": 3, "reader_features": ("deletionVectors", "v2Checkpoint")},
        "readers of version 3, not 1: ALTER TABLE brokers DROP FEATURE deletionVectors and ALTER TABLE brokers DROP FEATURE v2Ch",
    ),
]


@pytest.mark.parametrize(("fault", "complaint"), FAULTS, ids=[complaint for _, complaint in FAULTS])
def test_each_difference_is_named(fault: dict[str, Any], complaint: str) -> None:
    """Types, nullability, missing and foreign columns, partitioning and reader version must be ours; comments may differ."""
    ours = State(
        location="somewhere",
        version=0,
        reader_version=1,
        schema=changed(rack={"metadata": {}}),
        partition_by=(SNAPSHOT_DATE,),
        snapshot=None,
    )
    assert columns_to_add(BY_NAME["brokers"], ours) == ()
    with pytest.raises(SchemaChanged, match=complaint):
        columns_to_add(BY_NAME["brokers"], replace(ours, **fault))


def test_a_feature_that_others_turned_on_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """The cure names what the table has."""
    ours = open_warehouse(spark, settings(f"warehouse={tmp_path / 'wh'}"), CLOCK)
    ours.kernel.set_properties(ours.state("topics"), {"delta.checkpointPolicy": "v2"})
    with pytest.raises(SchemaChanged, match=r"not 1: ALTER TABLE topics DROP FEATURE v2Checkpoint$"):
        open_warehouse(spark, settings(f"warehouse={tmp_path / 'wh'}"), CLOCK)
