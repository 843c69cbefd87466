"""A container of Azurite, Azure's emulator, and the settings by which Hadoop reaches it.

`python -m tests.tools` installs it. It has no Data Lake endpoint, so it plays an account without a hierarchical namespace,
which Hadoop reaches through the endpoint for blobs.
"""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_lagoon.jars.locked_jars import jar_paths
from tests.object_store import add_jars
from tests.tools import azurite, is_there

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONTAINER, ACCOUNT = "lake", "devstoreaccount1"
# Azurite's well-known key, which its documentation prints.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
ROOT = f"abfs://{CONTAINER}@{ACCOUNT}.dfs.core.windows.net"


@dataclass(frozen=True, slots=True)
class AzureStore:
    """A server with one container."""

    port: int

    def hadoop(self) -> dict[str, str]:
        """Return Hadoop's settings for the server."""
        return {
            "fs.azure.account.auth.type": "SharedKey",
            "fs.azure.account.key": KEY,
            "fs.azure.account.hns.enabled": "false",
            "fs.azure.fns.account.service.type": "BLOB",
            "fs.azure.createRemoteFileSystemDuringInitialization": "true",
            "fs.azure.abfs.endpoint": f"127.0.0.1:{self.port}",
            "fs.azure.always.use.https": "false",
            "fs.azure.networking.library": "JDK_HTTP_URL_CONNECTION",
        }

    def delta_rs(self) -> dict[str, str]:
        """Return the settings of delta-rs for the server, which shares no code with Hadoop."""
        return {
            "azure_storage_account_name": ACCOUNT,
            "azure_storage_account_key": KEY,
            "azure_storage_endpoint": f"http://127.0.0.1:{self.port}/{ACCOUNT}",
            "allow_http": "true",
        }


@contextmanager
def azure_store(folder: Path) -> Iterator[AzureStore]:
    """Run a server with an empty container until the block ends."""
    program = is_there(azurite())
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--location", str(folder), "--blobPort", str(port), "--skipApiVersionCheck", "--loose", "--silent"]
    options.append("--disableTelemetry")  # otherwise it reports to a server of Microsoft
    with subprocess.Popen([program, *options], stdout=subprocess.DEVNULL) as process:
        try:
            _wait(port, process)
            yield AzureStore(port)
        finally:
            process.kill()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while True:
        assert process.poll() is None, "the server ended"
        assert time.monotonic() < end, "the server did not start"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return


def reach_azure(spark: "SparkSession", store: AzureStore) -> None:
    """Give a running session access to the container: the jar, as --packages would add it, and settings."""
    add_jars(spark, jar_paths("hadoop-azure-3.5.0"))
    for name, value in store.hadoop().items():
        spark.sparkContext._jsc.hadoopConfiguration().set(name, value)
