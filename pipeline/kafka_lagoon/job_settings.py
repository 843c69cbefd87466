"""Declares the sections of the settings for the jobs, for queries and for metrics."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from kafka_lagoon.integers import MOST_INT32
from kafka_lagoon.patterns import compile_pattern
from kafka_lagoon.text import comma_separated
from kafka_lagoon.warehouse_urls import credentials_fault

_MOST_MB = 1 << 40  # DuckDB counts bytes in 64 bits
_LONGEST_MS = MOST_INT32  # 24 days, as in Kafka; Python's threads cannot wait for any length of time
_MOST_THREADS = 4096  # DuckDB starts all of them before a query: 100,000 take minutes

CommaSeparated = Annotated[str, BeforeValidator(comma_separated)]


class Strict(BaseModel):
    """A section of the settings: frozen, refuses unknown keys, and has no values in its error messages."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_switch(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse true in place of a number: pydantic would read 1, and 1 day of retention removes almost everything."""
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation in (int, int | None):
            raise ValueError("must be a whole number")
        return value


class SnapshotSettings(Strict):
    """Settings of snapshots: time limits, coverage, and the exit code of incomplete snapshots."""

    deadline_ms: int = Field(300_000, gt=0, description="Longest time for collecting the state of one cluster.")
    slot_max_age_ms: int = Field(
        3_600_000, gt=0, description="Greatest distance of a `--slot` from now; others are refused."
    )
    lock_wait_ms: int = Field(0, ge=0, description="Longest wait for another run's lock, before exit 4.")
    clusters_at_once: int = Field(4, gt=0, description="Most clusters of a run that are captured at the same time.")
    accept_incomplete: bool = Field(
        False, description="Exit 0 instead of 3 if brokers did not answer; `--accept-incomplete` for short."
    )
    fail_when_incomplete: bool = Field(False, description="Exit 1 instead of 3 if brokers did not answer.")
    topics: str | None = Field(
        None,
        description="Regular expression of the whole names of topics that snapshots cover, internal ones too; unset: all.",
    )
    exclude_topics: str | None = Field(
        None, description="Regular expression of the whole names of topics that snapshots leave out."
    )
    groups: str | None = Field(
        None, description="Regular expression of the whole group.ids that snapshots cover; unset: all."
    )
    exclude_groups: str | None = Field(
        None, description="Regular expression of the whole group.ids that snapshots leave out."
    )
    skip_tables: CommaSeparated | None = Field(
        None,
        description="Comma-separated tables that snapshots do not collect; table coverage lists them. Tables that can be "
        "skipped: configs, log_dirs, quorum, features, api_versions, acls, quotas, scram_users, delegation_tokens, "
        "reassignments, transactions, producers.",
    )

    time_lag: Literal["fetch", "interpolate", "off"] = Field(
        "fetch",
        description="Measurement of the age of unread records: fetch reads the first unread record of each group and "
        "partition, interpolate estimates its age from earlier snapshots, off leaves the age out.",
    )
    time_lag_max_bytes: int = Field(
        512 << 20, gt=0, description="Most bytes of records that a snapshot fetches for the time lag."
    )
    time_lag_max_positions: int = Field(
        200_000,
        gt=0,
        description="Most positions whose time lag a snapshot measures; positions with the largest lag come first. Groups at "
        "the same offset of a partition share a position.",
    )
    time_lag_executor_positions: int = Field(
        50_000,
        gt=0,
        description="Least number of positions that executors measure; fewer are measured by the driver. Without a Spark "
        "session, or with kafka.max_bytes_per_second, the driver measures all.",
    )
    time_lag_history_days: int = Field(
        7, gt=0, le=366, description="Greatest age of the earlier snapshots that `snapshot.time_lag=interpolate` reads."
    )

    @field_validator("topics", "exclude_topics", "groups", "exclude_groups")
    @classmethod
    def _is_a_pattern(cls, value: str | None) -> str | None:
        """Check a pattern. An empty pattern counts as unset, as for ingests, because an environment variable may be empty."""
        compile_pattern(value or "")
        return value or None

    @model_validator(mode="after")
    def _one_exit_code(self) -> "SnapshotSettings":
        if self.accept_incomplete and self.fail_when_incomplete:
            raise ValueError("accept_incomplete and fail_when_incomplete exclude each other")
        return self


class IngestSettings(Strict):
    """Settings of ingests: the records that they read, and limits of memory, time and amount."""

    topics: CommaSeparated | None = Field(None, description="Comma-separated names of topics; `--topics` for short.")
    pattern: str | None = Field(
        None,
        description="Regular expression of whole topic names, internal topics left out; `--pattern` for short. Records may "
        "hold personal data: choose the topics that you may keep.",
    )
    start: str = Field(
        "earliest",
        description="Start of reading in topics that were never archived: earliest, latest, latest-N (N offsets before "
        "the end), an offset, topic:partition=offset,..., or a time (ISO 8601, UTC without a zone; 14:05; 2h ago; yesterday); "
        "`--from` for short.",
    )
    isolation_level: Literal["read_committed", "read_uncommitted"] = Field(
        "read_committed",
        description="read_committed leaves records of aborted transactions out, read_uncommitted keeps and marks them.",
    )
    accept_loss: bool = Field(
        False,
        description="Exit 0 instead of 3 if records were lost: removed before they were read, not readable, or of a log that "
        "was truncated or a topic that was deleted; `--accept-loss` for short.",
    )
    accept_incomplete: bool = Field(
        False,
        description="Exit 0 instead of 3 if records are left for the next run; `--accept-incomplete` for short.",
    )
    max_offsets_per_run: int | None = Field(
        None,
        gt=0,
        description="Approximate number of offsets that one run reads, divided among partitions by their backlog; the next "
        "run continues.",
    )
    deadline_ms: int = Field(
        0,
        ge=0,
        description="Longest time of a run over one cluster; the records read by then are committed, and the next run "
        "continues. The time of a store that does not answer comes in addition. 0: no limit as long as there is progress.",
    )
    plan_timeout_ms: int = Field(300_000, gt=0, description="Longest time for planning.")
    stall_timeout_ms: int = Field(
        60_000,
        gt=0,
        description="Longest wait for a partition without progress; shorter if its leader has stalled before.",
    )
    task_mb: int = Field(
        256, gt=0, description="Largest amount that one Spark task reads, in MiB as the brokers store it."
    )
    local_max_bytes: int = Field(
        256 << 20,
        ge=0,
        description="Most bytes, as the brokers store them, that a run reads in its own process where the tables are in a "
        "folder of this machine or in S3: starting Spark takes longer. 0: always on Spark's executors.",
    )
    task_memory_mb: int = Field(
        256,
        ge=64,
        description="Memory of one Spark task, in MiB, in addition to its process (about 130 MiB). A batch that is larger "
        "than a quarter of it when decompressed takes up to four times its size.",
    )
    batch_limit_mb: int = Field(
        64,
        gt=0,
        le=2047,
        description="Largest size of a decompressed batch, in MiB, and of a record's headers, counted as 16 bytes each; a "
        "larger batch becomes a row of record_problems.",
    )
    max_partition_fetch_bytes: int = Field(8 << 20, gt=0, description="Most bytes of a partition in one response.")
    check_crcs: bool = Field(True, description="True to verify the checksums of batches.")
    lock_wait_ms: int = Field(0, ge=0, description="Longest wait for another run's lock, before exit 4.")

    @field_validator("pattern")
    @classmethod
    def _is_a_pattern(cls, value: str | None) -> str | None:
        compile_pattern(value or "")
        return value


class RecordsSettings(Strict):
    """Settings of the data files of table `records`."""

    writer: Literal["kernel", "spark"] = Field(
        "kernel",
        description="Writer that commits records: kernel (Delta Kernel), or spark for tables that only their catalog may "
        "write.",
    )
    staging: str | None = Field(
        None, description="Folder or URL for files that Spark copies into the table; required by writer spark."
    )
    compression: Literal["auto", "zstd-fast", "zstd", "snappy", "lz4", "none"] = Field(
        "auto",
        description="Codec of the Parquet files. auto chooses a fast codec by compressing a sample of each file's keys and "
        "values: snappy if it leaves at most 45 % of the size, zstd-fast if it leaves more, zstd for random letters, none "
        "for incompressible data. zstd makes the smallest files.",
    )
    target_file_mb: int = Field(128, gt=0, description="Size at which a data file is closed, in MiB.")

    @field_validator("staging")
    @classmethod
    def _has_no_credentials(cls, value: str | None) -> str | None:
        if value is not None and (fault := credentials_fault(value)):
            raise ValueError(fault)
        return value


class RestoreSettings(Strict):
    """Settings of restores, which write archived records back to a cluster."""

    compression: Literal["as-archived", "none", "gzip", "snappy", "lz4", "zstd"] = Field(
        "as-archived",
        description="Codec of the batches; as-archived takes the codec of the archived batches, or zstd if they had several.",
    )
    commit_interval_ms: int = Field(
        60_000, gt=0, description="Interval at which written records are committed to table restore_map."
    )
    timeout_ms: int = Field(
        120_000,
        gt=0,
        description="Longest wait for a broker, including retries, before a partition is given up.",
    )
    task_memory_mb: int = Field(
        256, ge=64, description="Memory of one Spark task, in MiB, in addition to its process (about 130 MiB)."
    )
    local_max_bytes: int = Field(
        256 << 20,
        ge=0,
        description="Most bytes, as the source's brokers stored them, that a run restores in its own process where the tables "
        "are in a folder of this machine: starting Spark takes longer. 0: always on Spark's executors.",
    )
    lock_wait_ms: int = Field(0, ge=0, description="Longest wait for another restore or an alteration, before exit 4.")


class SqlSettings(Strict):
    """Limits of DuckDB's queries: `lagoon sql`, `lag`, `health`, `changes`, `metrics`, `report`; `maintain` has no timeout."""

    memory_mb: int | None = Field(
        None, gt=0, le=_MOST_MB, description="Most memory, in MiB; unset: 80 % of the machine's."
    )
    threads: int | None = Field(None, gt=0, le=_MOST_THREADS, description="Most threads; unset: one per core.")
    spill_mb: int | None = Field(
        None,
        gt=0,
        le=_MOST_MB,
        description="Most space that a query takes in the temporary folder when memory is short, in MiB; unset: 90 % of the "
        "space.",
    )
    timeout_ms: int = Field(
        0, ge=0, le=_LONGEST_MS, description="Longest wait for the next rows of a query. 0: no limit."
    )


class MetricsSettings(Strict):
    """Settings of the metrics that runs write for Prometheus."""

    folder: str | None = Field(
        None,
        description="Folder that node_exporter's textfile collector reads; each run replaces its files there when it ends.",
    )
    max_groups: int = Field(
        100,
        ge=0,
        description="Most groups of a cluster with metrics of their own: first groups that lost records, then those that "
        "retention.ms reaches within a day, then those with the largest lag.",
    )
    max_topics: int = Field(
        1_000,
        ge=0,
        description="Most topics of a cluster with a metric that names their owner, in the order of their names.",
    )


class RetentionSettings(Strict):
    """Ages at which `lagoon maintain` removes data. Without a number of days nothing is removed."""

    snapshots_all_days: int | None = Field(
        None,
        gt=0,
        description="Number of days before today (UTC) for which all snapshots are kept. Of older snapshots the first "
        "complete one of each hour or day is kept. The others are removed from all tables, except the latest snapshot of "
        "each cluster.",
    )
    snapshots_hourly_days: int | None = Field(
        None,
        gt=0,
        description="Number of days for which one snapshot per hour and cluster is kept; unset: only one per day.",
    )
    snapshots_daily_days: int | None = Field(
        None, gt=0, description="Number of days for which one snapshot per day and cluster is kept; unset: for ever."
    )
    records_days: int | None = Field(
        None,
        gt=0,
        description="Number of days for which ingests are kept, in records, record_ranges and record_problems; unset: for "
        "ever.",
    )
    admin_actions_days: int | None = Field(
        None, gt=0, description="Number of days for which alterations are kept in admin_actions; unset: for ever."
    )

    @model_validator(mode="after")
    def _longer_and_longer(self) -> "RetentionSettings":
        named = {
            name: days
            for name in ("snapshots_all_days", "snapshots_hourly_days", "snapshots_daily_days")
            if (days := getattr(self, name)) is not None
        }
        if named and self.snapshots_all_days is None:
            raise ValueError(f"{' and '.join(named)}: snapshots_all_days must be set, too")
        if list(named.values()) != sorted(named.values()):
            raise ValueError(f"{', '.join(named)}: each must be at least as many as the one before")
        return self
