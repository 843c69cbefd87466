"""Declares the sections of the settings that say how each job works."""

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator


class Strict(BaseModel):
    """A section of the settings: frozen, without unknown keys, and without values in its error messages."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class SnapshotSettings(Strict):
    """Settings of snapshots: time limits, what they cover, and how incomplete ones end."""

    deadline_ms: int = Field(300_000, gt=0, description="Longest time for collecting the state of one cluster.")
    slot_max_age_ms: int = Field(3_600_000, gt=0, description="A `--slot` further back than this is refused.")
    lock_wait_ms: int = Field(0, ge=0, description="How long to wait for another run's lock before exit 4.")
    clusters_at_once: int = Field(4, gt=0, description="How many clusters of a run are captured at the same time.")
    accept_incomplete: bool = Field(
        False, description="Exit 0 instead of 3 when something did not answer; `--accept-incomplete` for short."
    )
    fail_when_incomplete: bool = Field(False, description="Exit 1 instead of 3 when something did not answer.")
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
    skip_tables: str | None = Field(
        None,
        description="Comma-separated tables that snapshots do not collect, as table coverage says. These can be skipped: "
        "configs, log_dirs, quorum, features, api_versions, acls, quotas, scram_users, delegation_tokens, "
        "reassignments, transactions, producers.",
    )

    time_lag: Literal["fetch", "interpolate", "off"] = Field(
        "fetch",
        description="How the age of unread records is measured: fetch reads the first one of each group and partition, "
        "interpolate estimates it from earlier snapshots, off leaves it out.",
    )
    time_lag_max_bytes: int = Field(
        512 << 20, gt=0, description="Most bytes of records that a snapshot fetches for the time lag."
    )
    time_lag_max_positions: int = Field(
        200_000,
        gt=0,
        description="Most positions whose time lag a snapshot measures, those with the largest lag; groups at the same offset "
        "of a partition share one.",
    )
    time_lag_executor_positions: int = Field(
        50_000,
        gt=0,
        description="Number of positions from which on executors measure them, where a Spark session runs.",
    )
    time_lag_history_days: int = Field(
        7, gt=0, le=366, description="How far back `snapshot.time_lag=interpolate` looks for earlier snapshots."
    )

    @field_validator("topics", "exclude_topics", "groups", "exclude_groups")
    @classmethod
    def _is_a_pattern(cls, value: str | None) -> str | None:
        try:
            re.compile(value or "")
        except re.error as error:
            raise ValueError(f"{value}: {error}") from None
        return value

    @model_validator(mode="after")
    def _one_exit_code(self) -> "SnapshotSettings":
        if self.accept_incomplete and self.fail_when_incomplete:
            raise ValueError("accept_incomplete and fail_when_incomplete exclude each other")
        return self


class IngestSettings(Strict):
    """Settings of ingests: the records that they read, and the most at once."""

    topics: str | None = Field(None, description="Comma-separated names of topics; `--topics` for short.")
    pattern: str | None = Field(
        None,
        description="Regular expression of whole topic names, internal topics left out; `--pattern` for short. Records may "
        "hold personal data: choose the topics that you may keep.",
    )
    start: str = Field(
        "earliest",
        description="Where reading starts in topics that were never archived: earliest, latest, latest-N (N offsets before "
        "the end), an offset, topic:partition=offset,..., or a time (ISO 8601, UTC without a zone; 2h ago; yesterday); "
        "`--from` for short.",
    )
    isolation_level: Literal["read_committed", "read_uncommitted"] = Field(
        "read_committed", description="Whether records of aborted transactions are left out, or kept and marked."
    )
    accept_loss: bool = Field(
        False, description="Exit 0 instead of 3 when retention removed records before they were read."
    )
    accept_incomplete: bool = Field(
        False,
        description="Exit 0 instead of 3 when something was not read that the next run will read; "
        "`--accept-incomplete` for short.",
    )
    max_offsets_per_run: int | None = Field(
        None,
        gt=0,
        description="About how many offsets one run reads, divided among partitions by their backlog; the next run continues.",
    )
    deadline_ms: int = Field(
        0,
        ge=0,
        description="Longest time of a run over one cluster; what is read by then is committed, and the next run continues. "
        "0: as long as there is progress.",
    )
    plan_timeout_ms: int = Field(300_000, gt=0, description="Longest time for planning.")
    stall_timeout_ms: int = Field(
        60_000,
        gt=0,
        description="Longest time to wait for a partition without progress; less where its leader stalled before.",
    )
    task_mb: int = Field(256, gt=0, description="Most that one Spark task reads, in MiB as the brokers store it.")
    task_memory_mb: int = Field(
        256,
        ge=64,
        description="Memory of one Spark task beside that of its process (about 130), in MiB. A batch of more than a quarter "
        "of it, decompressed, takes up to four times its size.",
    )
    batch_limit_mb: int = Field(
        64,
        gt=0,
        le=2047,
        description="Largest batch, decompressed, in MiB, and as much for a record's headers at 16 bytes each; a larger one "
        "becomes a row of record_problems.",
    )
    max_partition_fetch_bytes: int = Field(8 << 20, gt=0, description="Most bytes of a partition in one request.")
    check_crcs: bool = Field(True, description="Whether checksums of batches are verified.")
    lock_wait_ms: int = Field(0, ge=0, description="How long to wait for another run's lock before exit 4.")


class RecordsSettings(Strict):
    """Settings of the data files of table `records`."""

    writer: Literal["kernel", "spark"] = Field(
        "kernel",
        description="What commits records: Delta Kernel, or Spark for tables that only their catalog may write.",
    )
    staging: str | None = Field(
        None, description="Folder or URL for files that Spark then copies into the table; required by writer spark."
    )
    compression: Literal["auto", "zstd-fast", "zstd", "snappy", "lz4", "none"] = Field(
        "auto",
        description="Codec of the Parquet files. auto is quick, by a sample of each file's keys and values: snappy if it "
        "leaves at most 45 %, zstd-fast if it leaves more, zstd for random letters, none if nothing helps. zstd is the "
        "densest.",
    )
    target_file_mb: int = Field(128, gt=0, description="Size at which a data file is closed, in MiB.")


class RestoreSettings(Strict):
    """Settings of restores, which write archived records back."""

    compression: Literal["as-archived", "none", "gzip", "snappy", "lz4", "zstd"] = Field(
        "as-archived",
        description="Codec of the batches; as-archived is the one that the archived batches had, zstd if they had several.",
    )
    commit_interval_ms: int = Field(
        60_000, gt=0, description="How often what was written is committed to table restore_map."
    )
    timeout_ms: int = Field(
        120_000,
        gt=0,
        description="Longest time to wait for a broker, retries included, before a partition is given up.",
    )
    task_memory_mb: int = Field(
        256, ge=64, description="Memory of one Spark task beside that of its process (about 130), in MiB."
    )
    lock_wait_ms: int = Field(0, ge=0, description="How long to wait for another restore's lock before exit 4.")


class SqlSettings(Strict):
    """Limits of DuckDB's queries: `lagoon sql`, `lag`, `health`, `changes`, `metrics`, `report`."""

    memory_mb: int | None = Field(None, gt=0, description="Most memory, in MiB; unset: 80 % of the machine's.")
    threads: int | None = Field(None, gt=0, description="Most threads; unset: one per core.")
    spill_mb: int | None = Field(
        None,
        gt=0,
        description="Most that a query puts into the temporary folder where memory is short, in MiB; unset: 90 % of it.",
    )
    timeout_ms: int = Field(0, ge=0, description="Longest time to wait for the next rows of a query. 0: no end.")


class MetricsSettings(Strict):
    """Where a run leaves its metrics for Prometheus."""

    folder: str | None = Field(
        None,
        description="Folder that node_exporter's textfile collector reads: each run replaces its files there when it ends.",
    )
    max_groups: int = Field(
        100,
        ge=0,
        description="Most groups of a cluster with metrics of their own: those that lost records, then the largest lag.",
    )


class RetentionSettings(Strict):
    """Ages at which `lagoon maintain` removes data: nothing unless a number of days is set."""

    snapshots_all_days: int | None = Field(
        None,
        gt=0,
        description="For how many days before today (UTC) all snapshots are kept; of older ones the first complete one of "
        "each hour or day is. A snapshot is removed from all tables; the latest one of each cluster never is.",
    )
    snapshots_hourly_days: int | None = Field(
        None,
        gt=0,
        description="For how many days one snapshot per hour and cluster is kept; unset: none but one per day.",
    )
    snapshots_daily_days: int | None = Field(
        None, gt=0, description="For how many days one snapshot per day and cluster is kept; unset: for ever."
    )
    records_days: int | None = Field(
        None,
        gt=0,
        description="For how many days ingests are kept, in records, record_ranges and record_problems; unset: for ever.",
    )
    admin_actions_days: int | None = Field(
        None, gt=0, description="For how many days alterations are kept in admin_actions; unset: for ever."
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
