"""Jobs over a warehouse in a bucket whose server refuses the second of two writers, as S3 does: no lock keeps runs apart there."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.object_store import BUCKET, ObjectStore, hadoop_aws
from tests.proof.points.processes import spark_environment
from tests.proof.points.watch import Change
from tests.proof.points.world import Attempt, World

_COMMIT = re.compile(r".*/_delta_log/\d{20}\.json")
_IS_DONE = range(200, 300)


@dataclass
class InBucket:
    """A job of a folder, over copies of its template in a bucket; its tables are judged in a folder."""

    world: World
    store: ObjectStore
    job: Any
    starts_spark: bool = True

    @property
    def name(self) -> str:
        """The name of the job, with the file system."""
        return f"{self.job.name}-s3" if self.starts_spark else f"{self.job.name}-s3-alone"

    def attempt(self, *, retries: bool, place: str | None = None) -> Attempt:  # noqa: ARG002  it makes the place
        """An attempt over a copy of the template."""
        folder = self.world.new_folder()
        location = f"s3a://{BUCKET}/{folder.name}"
        self.store.upload(self.job.template, folder.name)
        made: Attempt = self.job.attempt(retries=retries, place=location)
        return replace(made, environ=self._environ(retries=retries), fetch=lambda: self._downloaded(folder.name))

    def _environ(self, *, retries: bool) -> Mapping[str, str]:
        if not self.starts_spark:
            return {"SPARK_CONF_DIR": str(self.store.spark_conf(self.world.new_folder()))}
        conf = [f"--conf spark.hadoop.{key}={value}" for key, value in self.store.hadoop().items()]
        master = "local[2,4]" if retries else "local[2]"
        return spark_environment(master, f"--jars {','.join(hadoop_aws())}", *conf)

    def changes(self, location: str, since: int) -> Counter[Change]:
        """The objects that requests have created and removed below a location; commits by their number."""
        prefix = f"/{location.removeprefix('s3a://')}/"
        changes: Counter[Change] = Counter()
        for request in self.store.requests()[since:]:
            if not request.path.startswith(prefix) or request.path.endswith("/") or request.status not in _IS_DONE:
                continue
            path = request.path.removeprefix(prefix)
            if request.method in ("PUT", "POST"):
                changes[Change("new", path)] += 1 if _COMMIT.fullmatch(path) else not changes[Change("new", path)]
            elif request.method == "DELETE":
                changes[Change("gone", path)] = 1
        return changes

    def _downloaded(self, name: str) -> Path:
        folder = self.world.new_folder()
        self.store.download(name, folder)
        return folder
