"""A bucket of an S3 server on a loopback port, the settings of its clients, and the requests that it received."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

from kafka_lagoon.jars.locked_jars import HADOOP_AWS, jar_paths

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent
BUCKET = "lake"
KEY, SECRET = "AKIAEXAMPLE", "a-secret-that-nobody-may-see"
_REGION = "eu-west-3"


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
                "endpoint.region": _REGION,
                "path.style.access": "true",
                "access.key": KEY,
                "secret.key": SECRET,
                "attempts.maximum": "3",
                "retry.interval": "20ms",
            }.items()
        }

    def delta_rs(self) -> dict[str, str]:
        """Return the settings of delta-rs for this server."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": _REGION,
            "AWS_ALLOW_HTTP": "true",
        }

    def client(self) -> Any:
        """Return a client of boto3."""
        keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET}
        return boto3.client("s3", endpoint_url=self.endpoint, region_name=_REGION, **keys)

    def keys(self, prefix: str) -> list[str]:
        """Return the keys of all objects below a prefix."""
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [stored["Key"] for page in pages for stored in page.get("Contents", ())]

    def upload(self, folder: Path, prefix: str) -> None:
        """Write the files of a folder to objects below a prefix; not those that only Hadoop's local file system has."""
        client = self.client()
        for path in folder.rglob("*"):
            if path.is_file() and not path.name.startswith(".") and not path.name.endswith(".crc"):
                client.upload_file(str(path), BUCKET, f"{prefix}/{path.relative_to(folder)}")

    def download(self, prefix: str, folder: Path) -> None:
        """Write all objects below a prefix to files in a folder."""
        client = self.client()
        for key in self.keys(f"{prefix}/"):
            path = folder / key.removeprefix(f"{prefix}/")
            if not key.endswith("/"):
                path.parent.mkdir(parents=True, exist_ok=True)
                client.download_file(BUCKET, key, str(path))

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
    def breaking_answers(self, text: str) -> Iterator[None]:
        """Answer GETs of paths with this text by a half of the body, once each."""
        with self._made_to("break-answers", text):
            yield

    @contextmanager
    def refusing(self, each: int) -> Iterator[None]:
        """Answer each N-th request with 503, without carrying it out."""
        with self._made_to("refuse-each", str(each)):
            yield

    @contextmanager
    def ignoring_conditions(self) -> Iterator[None]:
        """Ignore If-None-Match."""
        with self._made_to("ignore-conditions", ""):
            yield

    @contextmanager
    def _made_to(self, name: str, text: str) -> Iterator[None]:
        part = self.folder / f"{name}.part"
        part.write_text(text)
        part.rename(self.folder / name)  # the server never reads a part of it
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
            status, answer = store.request("PUT", f"/{BUCKET}", _CREATION)
            assert status == 200, answer
            yield store
        finally:
            process.kill()


_CREATION = (
    f"<CreateBucketConfiguration><LocationConstraint>{_REGION}</LocationConstraint></CreateBucketConfiguration>"
).encode()


def _port(folder: Path, process: subprocess.Popen[bytes]) -> int:
    end = time.monotonic() + 60
    while not (folder / "port").exists():
        assert process.poll() is None, "the server ended"
        assert time.monotonic() < end, "the server did not start"
        time.sleep(0.05)
    return int((folder / "port").read_text())


def reach(spark: "SparkSession", store: ObjectStore) -> None:
    """Give a running session access to the bucket: jars, as --jars would add them, and settings."""
    add_jars(spark, hadoop_aws())
    for name, value in store.hadoop().items():
        spark.sparkContext._jsc.hadoopConfiguration().set(name, value)


def add_jars(spark: "SparkSession", paths: Iterable[str | Path]) -> None:
    """Add jars to a running session, where Hadoop looks for classes: Spark may have given this thread another class loader."""
    jvm: Any = spark.sparkContext._jvm
    loader = spark.sparkContext._jsc.hadoopConfiguration().getClassLoader()
    for path in paths:
        loader.addURL(jvm.java.io.File(str(path)).toURI().toURL())


def hadoop_aws() -> Sequence[str]:
    """Return the paths of Hadoop's jars for S3."""
    return [str(path) for path in jar_paths(HADOOP_AWS)]
