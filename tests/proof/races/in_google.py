"""A job of a folder, over copies of its template in a bucket of Google's test server; its tables are judged in a folder."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.google_store import BUCKET, GoogleStore
from tests.proof.points.processes import spark_environment
from tests.proof.points.world import Attempt, World


@dataclass
class InGoogle:
    """Like `InBucket` of the points, for Google's requests."""

    world: World
    store: GoogleStore
    job: Any
    environ: Mapping[str, str]

    @property
    def name(self) -> str:
        """The name of the job, with the file system."""
        return f"{self.job.name}-gs"

    def attempt(self, *, retries: bool, place: str | None = None) -> Attempt:  # noqa: ARG002  it makes the place
        """An attempt over a copy of the template."""
        name = self.world.new_folder().name
        self._upload(self.job.template, name)
        made: Attempt = self.job.attempt(retries=retries, place=f"gs://{BUCKET}/{name}")
        environ = {**spark_environment(), **self.environ}
        return replace(made, environ=environ, fetch=lambda: self._downloaded(name))

    def _upload(self, folder: Path, name: str) -> None:
        for path in folder.rglob("*"):
            if path.is_file() and not path.name.startswith(".") and not path.name.endswith(".crc"):
                key = quote(f"{name}/{path.relative_to(folder)}", "")
                where = f"/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={key}"
                status, answer = self.store.request("POST", where, path.read_bytes())
                assert status == 200, answer

    def _downloaded(self, name: str) -> Path:
        folder = self.world.new_folder()
        self.store.copy(name, folder)
        return folder / name
