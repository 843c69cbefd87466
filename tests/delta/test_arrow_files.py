"""Hadoop's URLs name the same places for Arrow, and a store may be slow."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from pyarrow import fs

from kafka_lagoon.delta.arrow_files import arrow_uri, file_system
from kafka_lagoon.delta.s3_access import S3Access
from kafka_lagoon.errors import TableError
from kafka_lagoon.secret import Secret


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n"])
def test_amazons_store_has_one_name(scheme: str) -> None:
    """Hadoop has three schemes for S3, Arrow one (which would request the bucket's region from Amazon at once)."""
    assert arrow_uri(f"{scheme}://bucket/a b%/ingest_date=2026-11-21") == "s3://bucket/a%20b%25/ingest_date=2026-11-21"


def test_an_access_is_all_that_is_needed() -> None:
    """With region and keys no request is made for them, on the network or on the machine."""
    access = S3Access(region="eu-west-3", access_key="AKIA", secret_key=Secret("secret"))
    files, path = file_system("s3a://bucket/a b%/ingest_date=2026-11-21", access)
    assert isinstance(files, fs.S3FileSystem)
    assert files.region == "eu-west-3"
    assert path == "bucket/a b%/ingest_date=2026-11-21"


def test_a_scheme_that_arrow_does_not_know_is_named() -> None:
    """The message names a remedy."""
    with pytest.raises(TableError, match=r'^wasb://c@a/x: Arrow cannot write there .*; set records\.writer = "spark"$'):
        file_system("wasb://c@a/x")


@contextmanager
def slow_store(refused: int, pause_s: float) -> Iterator[str]:
    """Serve objects of seven bytes: as many requests are refused with 503, and each answer comes after a pause."""
    statuses = iter([503] * refused)

    class Answer(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Log nothing."""

        def do_HEAD(self) -> None:
            time.sleep(pause_s)
            self.send_response(next(statuses, 200))
            self.send_header("Content-Length", "7")
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@pytest.mark.long
@pytest.mark.parametrize(("refused", "pause_s"), [(4, 0), (0, 5)])
def test_a_store_may_be_slow(refused: int, pause_s: float) -> None:
    """A store that asks a few times to slow down, or that answers after seconds, does not end a task."""
    keys = {"access_key": "AKIA", "secret_key": Secret("secret")}
    with slow_store(refused, pause_s) as endpoint:
        access = S3Access(region="eu-west-3", endpoint=endpoint, scheme="http", path_style=True, **keys)
        files, path = file_system("s3a://bucket/object", access)
        assert files.get_file_info(path).size == 7


_READING = """
from kafka_lagoon.delta.arrow_files import arrow_file
try:
    arrow_file("abfss://lake@devstoreaccount1.dfs.core.windows.net/records/a file.parquet")
except Exception as error:
    print(error)
"""


def test_reading_from_azure_without_credentials_fails_without_ending_the_process(tmp_path: Path) -> None:
    """Arrow itself calls abort, and Spark says only that a Python worker crashed."""
    environ = {"PATH": "", "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", _READING], env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "devstoreaccount1" in done.stdout
