"""Declares every setting of the jobs and of `lagoon`, with the checks between settings of several sections."""

import re
from collections.abc import Mapping

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from kafka_lagoon.job_settings import (
    IngestSettings,
    MetricsSettings,
    RecordsSettings,
    RestoreSettings,
    RetentionSettings,
    SnapshotSettings,
    SqlSettings,
    Strict,
)
from kafka_lagoon.kafka_settings import BOTH_FORMS, DEFAULT_CLUSTER, ENV_PREFIX, KafkaSettings
from kafka_lagoon.owner_settings import NO_OWNERS, NOTHING_EXPECTED, ExpectedSettings, OwnersSettings
from kafka_lagoon.owners import Owners
from kafka_lagoon.secret import is_utf8
from kafka_lagoon.warehouse_urls import credentials_fault

NO_PLACE = "no place for the tables: give --warehouse FOLDER, or --conf FILE with warehouse, or with catalog and schema"
_DAY_MS = 86_400_000


class Settings(BaseSettings):
    """Every setting of the jobs and of `lagoon`."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="forbid", frozen=True, hide_input_in_errors=True)

    warehouse: str | None = Field(
        None,
        description="Folder or URL under which the tables live, one folder each. A relative path in a file of settings is "
        "relative to the file's folder, elsewhere to the current folder.",
    )
    create: bool = Field(
        default=False,
        description="Create a warehouse that does not exist. Without it, and without --create, a run makes one only if the "
        "folder above it exists and is empty: a typo must not start a second history.",
    )
    catalog: str | None = Field(None, description="Spark catalog that holds the tables, instead of `warehouse`.")
    schema_name: str | None = Field(None, validation_alias="schema", description="Schema in `catalog`.")
    umask: str | None = Field(
        None,
        description="Permissions that new files do not have (umask), in octal digits: with 027 the user's group can read them. "
        "Unset: the permissions that an existing warehouse folder does not have, else 077: only the user can read them.",
    )
    kafka: KafkaSettings | None = Field(None, description="The one cluster, called `default` in the tables.")
    clusters: Mapping[str, KafkaSettings] = Field({}, description="Several clusters by name, instead of `kafka`.")
    snapshot: SnapshotSettings = Field(
        SnapshotSettings(), description="Time limits, coverage and strictness of snapshots."
    )
    ingest: IngestSettings = Field(
        IngestSettings(), description="Records that an ingest reads, and limits of its memory and time."
    )
    records: RecordsSettings = Field(RecordsSettings(), description="Format and writer of the files of table records.")
    restore: RestoreSettings = Field(RestoreSettings(), description="Limits and codec of restores.")
    retention: RetentionSettings = Field(RetentionSettings(), description="Ages at which data is removed.")
    sql: SqlSettings = Field(SqlSettings(), description="Limits of DuckDB's queries on this machine.")
    metrics: MetricsSettings = Field(MetricsSettings(), description="Metrics of runs for Prometheus.")
    owners: OwnersSettings = Field(NO_OWNERS, description="Teams that own topics and groups.")
    expected: ExpectedSettings = Field(NOTHING_EXPECTED, description="Groups that are stopped on purpose.")

    @field_validator("warehouse")
    @classmethod
    def _is_place(cls, value: str | None) -> str | None:
        if value is not None and not is_utf8(value):  # Java and DuckDB can name no such folder
            raise ValueError("must be text in UTF-8")
        if value is not None and value.startswith("~"):  # a folder of this name would be made in the current folder
            raise ValueError(f"{value!r}: only shells know what ~ is: write the whole path")
        if value is not None and (fault := credentials_fault(value)):
            raise ValueError(fault)
        return value

    @field_validator("umask")
    @classmethod
    def _is_octal(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch("0?0[0-7]{2}", value):  # the owner must be able to use the files
            raise ValueError("must be 0 and two octal digits, such as 077, 027 or 022")
        return value

    @field_validator("clusters")
    @classmethod
    def _are_names(cls, value: Mapping[str, KafkaSettings]) -> Mapping[str, KafkaSettings]:
        for name in value:
            if not name.strip() or not name.isprintable() or {",", ":"} & set(name):
                raise ValueError(f"{name!r} is not a name of a cluster: options separate names by commas and colons")
        return value

    @model_validator(mode="after")
    def _one_of_each(self) -> "Settings":
        if self.kafka and self.clusters:
            raise ValueError(BOTH_FORMS)
        if self.warehouse and self.catalog:
            raise ValueError("warehouse and catalog exclude each other")
        if self.schema_name and not self.catalog:
            raise ValueError("schema needs catalog, the catalog that has the schema")
        if self.records.writer == "spark" and not self.records.staging:
            raise ValueError("records.writer spark needs records.staging, a folder for its input files")
        return self

    @model_validator(mode="after")
    def _keeps_published_slots(self) -> "Settings":
        """Require that snapshots are kept while their slot may be requested again, and while a run may refer to them."""
        days = self.retention.snapshots_all_days
        if days is not None and days * _DAY_MS < max(self.snapshot.slot_max_age_ms, self.snapshot.deadline_ms):
            raise ValueError(
                "retention.snapshots_all_days must be as long as snapshot.slot_max_age_ms and snapshot.deadline_ms"
            )
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  pydantic's signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Use only the values that `load` (settings_sources.py) has merged: it reads the environment, too."""
        return (init_settings,)

    def named_clusters(self) -> dict[str, KafkaSettings]:
        """Return every cluster under its name in the tables."""
        return {DEFAULT_CLUSTER: self.kafka} if self.kafka else dict(self.clusters)

    def all_owners(self) -> Owners:
        """Return what [owners] and [expected] say."""
        return Owners(topics=self.owners.topics, groups=self.owners.groups, expected=self.expected.groups)

    def staging(self) -> str | None:
        """Return the folder for files that Spark copies into the tables; None if the pipeline commits files itself."""
        return self.records.staging if self.records.writer == "spark" else None

    def has_tables(self) -> bool:
        """Return False if nothing says where the tables are, which commands that read and alter a cluster do not need."""
        return bool(self.warehouse or (self.catalog and self.schema_name))

    def place(self) -> str:
        """Return the location of the tables, for messages."""
        return self.warehouse or f"{self.catalog}.{self.schema_name}"


SECTIONS: Mapping[str, type[Strict]] = {  # beside [kafka] and [clusters.NAME]
    "snapshot": SnapshotSettings,
    "ingest": IngestSettings,
    "records": RecordsSettings,
    "restore": RestoreSettings,
    "retention": RetentionSettings,
    "sql": SqlSettings,
    "metrics": MetricsSettings,
    "owners": OwnersSettings,
    "expected": ExpectedSettings,
}
OF_OWNERS = ("owners", "expected")  # sections that may be in a file of their own, which `owners` names


def top_level_names() -> set[str]:
    """Return settings and sections of the first level, as they are spelled in a file."""
    return {str(field.validation_alias or name) for name, field in Settings.model_fields.items()}
