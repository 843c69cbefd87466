"""Where the tables of a history are, as other programs find them: in a folder, or in a bucket of S3."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable

from tests.object_store import BUCKET, ObjectStore, hadoop_aws


@dataclass(frozen=True, slots=True)
class Lake:
    """Tables in a folder."""

    folder: Path

    @property
    def location(self) -> str:
        """The warehouse of jobs."""
        return str(self.folder)

    @property
    def in_bucket(self) -> bool:
        """True if writers exclude each other by conditional requests, and no session of Spark is used to change tables."""
        return False

    def environ(self) -> Mapping[str, str]:
        """Return variables of jobs."""
        return {}

    def submit_options(self) -> Sequence[str]:
        """Return options of spark-submit."""
        return ()

    def exists(self, table: str) -> bool:
        """Return True if a table was created."""
        return (self.folder / table / "_delta_log").is_dir()

    def table(self, name: str, version: int | None = None) -> DeltaTable:
        """Open a table by deltalake."""
        return DeltaTable(str(self.folder / name), version=version)

    def commits(self, table: str) -> int:
        """Count the commits in a table's log."""
        return len(list(self.folder.glob(f"{table}/_delta_log/*.json")))

    def fetched(self) -> Path:
        """Return a folder with all tables as they are now."""
        return self.folder


@dataclass(frozen=True, slots=True)
class BucketLake(Lake):
    """Tables below a prefix of a bucket; `folder` gets a copy of them when they are judged."""

    store: ObjectStore
    prefix: str
    conf: Path  # for SPARK_CONF_DIR

    @property
    def location(self) -> str:
        return f"s3a://{BUCKET}/{self.prefix}"

    @property
    def in_bucket(self) -> bool:
        return True

    def environ(self) -> Mapping[str, str]:
        return {"SPARK_CONF_DIR": str(self.conf)}

    def submit_options(self) -> Sequence[str]:
        return ("--jars", ",".join(hadoop_aws()))

    def exists(self, table: str) -> bool:
        return self.commits(table) > 0

    def table(self, name: str, version: int | None = None) -> DeltaTable:
        url = f"s3://{BUCKET}/{self.prefix}/{name}"
        return DeltaTable(url, version=version, storage_options=self.store.delta_rs())

    def commits(self, table: str) -> int:
        return sum(key.endswith(".json") for key in self.store.keys(f"{self.prefix}/{table}/_delta_log/"))

    def fetched(self) -> Path:
        self.store.download(self.prefix, self.folder)
        return self.folder
