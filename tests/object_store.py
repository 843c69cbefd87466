"""A bucket of an S3 server on a loopback port, the settings of its clients, and the requests that it received."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_lagoon.jars.locked_jars import HADOOP_AWS, jar_paths

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent
BUCKET = "lake"
KEY, SECRET = "AKIAEXAMPLE", "a-secret-that-nobody-may-see"


@dataclass(frozen=True, slots=True)
class Request:
    """A request that the server received, and the status of its response."""

    status: int
    method: str
    path: str
    access_key: str
    has_token: bool
    is_conditional: bool
    received: int  # bytes of its body
    sent: int  # bytes of the response's body


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """A server with one bucket."""

    folder: Path
    port: int

    @property
    def endpoint(self) -> str:
        """Return its URL."""
        return f"http://127.0.0.1:{self.port}"

    def hadoop(self) -> dict[str, str]:
        """Return Hadoop's settings for this bucket, and for no other."""
        return {
            f"fs.s3a.bucket.{BUCKET}.{name}": value
            for name, value in {
                "endpoint": self.endpoint,
                "endpoint.region": "eu-west-3",
                "path.style.access": "true",
                "access.key": KEY,
                "secret.key": SECRET,
                "attempts.maximum": "3",
                "retry.interval": "20ms",
            }.items()
        }

    def spark_conf(self, folder: Path) -> Path:
        """Make a folder for SPARK_CONF_DIR: ours, with Hadoop's settings for this bucket."""
        shutil.copytree(ROOT / "conf", folder, ignore=lambda *_: {"airflow", "docker", "kubernetes"})
        with (folder / "spark-defaults.conf").open("a") as defaults:
            defaults.write("".join(f"spark.hadoop.{name} {value}\n" for name, value in self.hadoop().items()))
        return folder

    def request(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
        """Return status and body of the response to an unsigned request."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def requests(self) -> list[Request]:
        """Return all requests until now."""
        lines = (line.split(" ") for line in (self.folder / "requests").read_text().splitlines())
        return [
            Request(int(status), method, path, key, token != "-", condition != "-", int(received), int(sent))  # noqa: S105  says whether
            for status, method, path, key, token, condition, received, sent in lines
        ]

    @contextmanager
    def losing_answers(self, text: str) -> Iterator[None]:
        """Carry out PUTs to paths with this text, and answer with 500, once each."""
        with self._made_to("lose-answers", text):
            yield

    @contextmanager
    def ignoring_conditions(self) -> Iterator[None]:
        """Ignore If-None-Match."""
        with self._made_to("ignore-conditions", ""):
            yield

    @contextmanager
    def _made_to(self, name: str, text: str) -> Iterator[None]:
        (self.folder / name).write_text(text)
        try:
            yield
        finally:
            (self.folder / name).unlink()


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    """Run a server with an empty bucket until the block ends."""
    with subprocess.Popen([sys.executable, "-m", "tests.object_store_server", str(folder)]) as process:
        try:
            store = ObjectStore(folder, _port(folder, process))
            status, answer = store.request("PUT", f"/{BUCKET}", _REGION)
            assert status == 200, answer
            yield store
        finally:
            process.kill()


_REGION = b"<CreateBucketConfiguration><LocationConstraint>eu-west-3</LocationConstraint></CreateBucketConfiguration>"


def _port(folder: Path, process: subprocess.Popen[bytes]) -> int:
    end = time.monotonic() + 60
    while not (folder / "port").exists():
        assert process.poll() is None, "the server ended"
        assert time.monotonic() < end, "the server did not start"
        time.sleep(0.05)
    return int((folder / "port").read_text())


def reach(spark: "SparkSession", store: ObjectStore) -> None:
    """Give a running session access to the bucket: jars, as --jars would add them, and settings."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    # Hadoop looks classes up there. Spark may have given this thread another class loader by now.
    loader = conf.getClassLoader()
    for path in hadoop_aws():
        loader.addURL(jvm.java.io.File(path).toURI().toURL())
    for name, value in store.hadoop().items():
        conf.set(name, value)


def hadoop_aws() -> Sequence[str]:
    """Return the paths of Hadoop's jars for S3."""
    return [str(path) for path in jar_paths(HADOOP_AWS)]
