"""A bucket of Google's own test server for their storage clients, and the settings by which Hadoop and Arrow reach it.

`python -m tests.tools` installs it.
"""

import json
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from kafka_lagoon.jars.locked_jars import jar_paths
from tests.object_store import add_jars
from tests.tools import is_there, storage_testbench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKET = "lake"
_SERVER = Path(__file__).with_name("google_store_server.py")
_CONNECTOR = "org.apache.hadoop.fs.gs."
_CLIENT = "com.google.cloud.hadoop.repackaged.ossgcs.com.google.cloud."


@dataclass(frozen=True, slots=True)
class GoogleStore:
    """A server with one bucket."""

    port: int

    @property
    def endpoint(self) -> str:
        """Return its URL."""
        return f"http://127.0.0.1:{self.port}"

    def request(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Return status and body of the response to a request."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def copy(self, prefix: str, folder: Path) -> None:
        """Write all objects below a prefix to files in a folder."""
        status, body = self.request("GET", f"/storage/v1/b/{BUCKET}/o?prefix={prefix}/")
        assert status == 200, body
        for item in json.loads(body).get("items", ()):
            path = folder / item["name"]
            path.parent.mkdir(parents=True, exist_ok=True)
            if not item["name"].endswith("/"):
                status, content = self.request("GET", f"/storage/v1/b/{BUCKET}/o/{quote(item['name'], '')}?alt=media")
                assert status == 200, content
                path.write_bytes(content)


@contextmanager
def google_store() -> Iterator[GoogleStore]:
    """Run a server with an empty bucket until the block ends."""
    python = is_there(storage_testbench())
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen([python, str(_SERVER), str(port)], stderr=subprocess.DEVNULL) as process:
        try:
            store = GoogleStore(port)
            _wait(store, process)
            status, answer = store.request("POST", "/storage/v1/b?project=p", json.dumps({"name": BUCKET}).encode())
            assert status == 200, answer
            yield store
        finally:
            process.kill()


def _wait(store: GoogleStore, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while True:
        assert process.poll() is None, "the server ended"
        assert time.monotonic() < end, "the server did not start"
        try:
            store.request("GET", "/")
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return


def of_arrow(store: GoogleStore, folder: Path) -> dict[str, str]:
    """Make the environment in which Arrow opens the bucket: the server's address, and a key like that of a service account."""
    key = rsa.generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    account = {
        "type": "service_account",
        "project_id": "p",
        "private_key_id": "k",
        "private_key": key.decode(),
        "client_email": "lagoon@p.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": "https://localhost/token",
    }
    (folder / "key.json").write_text(json.dumps(account))
    return {
        "CLOUD_STORAGE_EMULATOR_ENDPOINT": store.endpoint,
        "GOOGLE_APPLICATION_CREDENTIALS": str(folder / "key.json"),
    }


def reach_google(spark: "SparkSession", store: GoogleStore, environ: Mapping[str, str]) -> None:
    """Give a running session access to the bucket: the jar, as --packages would, and Arrow by the workers' environment."""
    jvm: Any = spark.sparkContext._jvm
    add_jars(spark, jar_paths("hadoop-gcp-3.5.0"))
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("fs.gs.project.id", "p")
    use_server(jvm, jvm.org.apache.hadoop.fs.Path(f"gs://{BUCKET}/").getFileSystem(conf), store)
    spark.sparkContext.environment.update(environ)


def use_server(jvm: Any, files: Any, store: GoogleStore) -> None:
    """Replace Google's client in the connector by a client of the server: there is no setting for it."""

    def field(name: str, class_name: str) -> Any:
        declared = files.getClass().getClassLoader().loadClass(f"{_CONNECTOR}{class_name}").getDeclaredField(name)
        declared.setAccessible(True)
        return declared

    gcs = field("gcs", "GoogleCloudStorageFileSystem").get(field("gcsFs", "GoogleHadoopFileSystem").get(files))
    nobody = getattr(jvm, f"{_CLIENT}NoCredentials").getInstance()
    options = getattr(jvm, f"{_CLIENT}storage.StorageOptions").http().setHost(store.endpoint).setProjectId("p")
    field("storage", "GoogleCloudStorage").set(gcs, options.setCredentials(nobody).build().getService())
