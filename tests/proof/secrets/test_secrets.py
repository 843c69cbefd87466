"""Secrets are found in every encoding and place; `python -m tests.proof.secrets` searches what all runs leave."""

import base64
import gzip
import io
import json
from pathlib import Path
from urllib.parse import quote_plus, urlencode

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.proof.secrets.__main__ import main
from tests.proof.secrets.canaries import Search, canary, shapes
from tests.proof.secrets.places import PLACES, WATCHED, Left, Observed
from tests.proof.secrets.watch import File, Files, Processes, variables
from tests.proof.secrets.world import _without_response

SECRET = canary()
SEARCH = Search({"it": SECRET})
SPELLED = {
    "plain": f"password={SECRET};".encode(),
    "base64": base64.b64encode(f"user:{SECRET}".encode()),
    "hex": SECRET.encode().hex().upper().encode(),
    "url": urlencode({"password": SECRET}).encode(),
    "utf-16": f"a {SECRET} b".encode("utf-16"),
    "html": f"<td>{SECRET.replace('&', '&amp;')}</td>".encode(),
    "json": json.dumps({"password": SECRET}).replace("/", "\\/").encode(),
}


@pytest.mark.parametrize("encoding", SPELLED)
def test_every_encoding_is_found(encoding: str) -> None:
    """Also in the middle of other text; nothing is found where nothing is."""
    hits = {hit.encoding for hit in SEARCH.in_bytes(SPELLED[encoding], "here")}
    assert encoding in hits
    assert list(Search({"another": canary()}).in_bytes(SPELLED[encoding], "here")) == []


@pytest.mark.parametrize("before", range(7))
@pytest.mark.parametrize("after", range(3))
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_of_longer_texts(before: int, after: int, encode: object) -> None:
    """The secret is found at any place of the text that was encoded."""
    assert callable(encode)
    text: bytes = encode(b"x" * before + SECRET.encode() + b"y" * after)
    assert [hit.encoding for hit in SEARCH.in_bytes(text, "here")] == ["base64"]


def test_shapes_differ() -> None:
    """A canary has characters that URLs, HTML and base64 spell in another way."""
    assert quote_plus(SECRET).encode() in shapes(SECRET)["url"]
    assert all(SECRET.encode() not in several for name, several in shapes(SECRET).items() if name != "plain")


def observed(*files: File, stdout: bytes = b"", stderr: bytes = b"") -> Observed:
    """Make a run that has left these files."""
    processes = Processes(session=0, ui_port=0, of_memory=None)
    left = Left(folder=Path())
    return Observed(
        name="run", exit_code=0, stdout=stdout, stderr=stderr, left=left, files=files, processes=processes, given={}
    )


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("left/lake/records/_delta_log/00000000000000000000.json", "delta log"),
        ("left/lake/records/ingest_date=2026-11-23/a.parquet", "data files"),
        ("left/lake/records/_lagoon/1/ranges.parquet", "pending files"),
        ("left/lake/records.lock", "pending files"),
        ("local/blockmgr-1/0c/shuffle_0_0_0.data", "blocks"),
        ("local/spark-1/userFiles/a", "temporary files"),
        ("tmp/pyspark-1/b", "temporary files"),
        ("home/.duckdb_history", "caches"),
        ("cache/kernels/a", "caches"),
        ("cwd/hs_err_pid7.log", "crash files"),
        ("events/local-1", "event log"),
        ("left/report.html", "page"),
        ("left/metrics/lagoon.prom", "metrics"),
        ("left/log", "log file"),
        ("left/plans/rows", "query plans"),
        ("left/import.toml", "desired state"),
        ("left/checkpoint/offsets/0", "other files"),
    ],
)
def test_files_belong_to_places(path: str, place: str) -> None:
    """Each file is searched in the place that the counts name."""
    evidence = observed(File(Path(path), SECRET.encode())).evidence()
    assert [name for name in PLACES if any(SECRET.encode() in content for _, content in evidence[name])] == [place]


def test_values_of_parquet_are_decoded() -> None:
    """Compressed values, those inside of lists and structs, and the metadata of a file are searched."""
    nested = pa.table({"a": [[{"b": SECRET}]], "c": [SECRET.encode()]})
    for table in (
        nested.select(["a"]),
        nested.select(["c"]),
        nested.slice(0, 0).replace_schema_metadata({"k": SECRET}),
    ):
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression="zstd")
        evidence = observed(File(Path("left/lake/t/a.parquet"), buffer.getvalue())).evidence()
        assert [hit for where, content in evidence["data files"] for hit in SEARCH.in_bytes(content, where)]


def test_tracebacks_of_outputs() -> None:
    """Those of Python and of Java are parts of the outputs."""
    python = f"Traceback (most recent call last):\n  File\nRuntimeError: {SECRET}\n".encode()
    java = f"\tat a.B.c(B.java:1)\nCaused by: {SECRET}\n".encode()
    evidence = observed(stdout=b"line\n" + python, stderr=b"line\n" + java).evidence()
    assert [where for where, content in evidence["tracebacks"] if SECRET.encode() in content] == ["stdout", "stderr"]


def test_variables_of_the_user_are_left_out() -> None:
    """The variable in which the user gave the secret is in every child's environment; others must not have it."""
    environment = f"A={SECRET}\0B={SECRET}".encode()
    assert variables(environment, {"A": SECRET}) == f"B={SECRET}".encode()


def test_responses_of_brokers_are_left_out() -> None:
    """Kafka's request log has the secret of a new token in the response, whoever asked for it."""
    line = b'{"requestHeader":{"clientId":"c"},"request":{},"response":{"hmac":"s"},"connection":"1","principal":"p"}'
    kept = b'{"requestHeader":{"clientId":"c"},"request":{},"connection":"1","principal":"p"}'
    assert _without_response(line) == kept
    assert _without_response(b"INFO started") == b"INFO started"


def test_files_that_are_removed_are_read(tmp_path: Path) -> None:
    """A file is open before it is gone, and later writes are seen; folders that are not listed are left out."""
    for name in (*WATCHED, "given"):
        (tmp_path / name).mkdir()
    files = Files(tmp_path, WATCHED)
    with files:
        for place in ("tmp/new/folder", "given"):
            (tmp_path / place).mkdir(parents=True, exist_ok=True)
            with (tmp_path / place / "file").open("wb") as file:
                file.write(gzip.compress(b""))
                file.flush()
                while place.startswith("tmp") and not files._handles:
                    pass
                file.write(SECRET.encode())
            (tmp_path / place / "file").unlink()
    (read,) = files.read()
    assert read.path == Path("tmp/new/folder/file")
    assert read.content.endswith(SECRET.encode())


@pytest.mark.proof
@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.timeout(1200)
def test_some_runs_and_the_self_check(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is found of an ingest on an executor, of a token, and of a query that fails; all that was planted is found."""
    code = main(["--run", "on an executor, SCRAM", "--run", "exception in a task of a query"])
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert f"{len(PLACES)} of {len(PLACES)} planted were found, 0 secrets found, 0 failures" in printed
