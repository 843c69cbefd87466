"""`lagoon sql` as users start it, with DuckDB."""

import csv
import io
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from kafka_lagoon.cli.main import declaration, main
from kafka_lagoon.cli.sql_formats import FORMATS
from kafka_lagoon.query.views import NAMES, VIEWS
from kafka_lagoon.tables.record_tables import RECORDS
from kafka_lagoon.tables.schema import TABLES
from tests.delta.lake import make_lake
from tests.delta.samples import HOSTILE
from tests.documents import page
from tests.effort import first

ENDLESS = "SELECT lag_now.* FROM lag_now, range(1_000_000_000_000) AS many"
SHOWN = r"\u0000\u001b[31m \u202e\u2066 é 😀"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two published snapshots and five records."""
    return make_lake(tmp_path_factory.mktemp("lake"))


def command(lake: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "kafka_lagoon", "sql", "--warehouse", str(lake), *arguments]


@pytest.fixture
def sql(lake: Path, capsys: pytest.CaptureFixture[str]):
    """Runs `lagoon sql` in this process: exit code, output, standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["sql", "--warehouse", str(lake), *arguments])
        return (code, *capsys.readouterr())

    return run


def test_the_examples_of_the_help(sql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user can type each of them."""
    monkeypatch.chdir(tmp_path)
    for example in declaration("sql").examples:
        code, _, err = sql(*shlex.split(example)[2:])
        assert (code, err) == (0, ""), example


def test_without_a_statement_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Every table and view is listed with its comment; neither settings nor tables are needed."""
    assert main(["sql"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line and not line.endswith(":")]
    assert [line.split()[0] for line in lines] == list(NAMES)
    assert all(line.endswith(one.comment) for line, one in zip(lines, (*TABLES, *VIEWS), strict=True))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("'-0.0'::DOUBLE", -0.0),
        ("[0.5, 'nan'::DOUBLE, 'inf'::DOUBLE, '-inf'::FLOAT]", [0.5, "nan", "inf", "-inf"]),
        ("{'x': MAP {'nan'::DOUBLE: 5e-324}}", {"x": {"nan": 5e-324}}),
        (f"{10**38 - 1}::DECIMAL(38, 0)", 10**38 - 1),
        ("18446744073709551615", 2**64 - 1),
        ("1.2345678901234567890123456789", "1.2345678901234567890123456789"),
        ("1e-7::DECIMAL(18, 7)", 1e-7),
        ("TIMESTAMP '1969-12-31 23:59:59.999999'", "1969-12-31T23:59:59.999999"),
        ("TIMESTAMPTZ '10000-01-01 00:00:00+00'", "+10000-01-01T00:00:00.000Z"),
        ("TIMESTAMP '-infinity'", "-infinity"),
        ("chr(0) || chr(8232) || '😀'", "\0\u2028😀"),
        (r"'\xff\x00'::BLOB", {"base64": "/wA="}),
    ],
)
def test_json_that_every_parser_reads(sql, tmp_path: Path, value: str, expected: object) -> None:
    """JSON has no NaN, no infinity and no bytes; Python and DuckDB read the same from what stands for them."""
    statement = f"SELECT {value} AS a"
    code, out, _ = sql("--json", statement)
    assert code == 0
    read = json.loads(out, parse_constant=pytest.fail)["a"]
    assert repr(read) == repr(expected)  # -0.0 is equal to 0.0
    (tmp_path / "a.jsonl").write_text(out, "utf-8")
    with duckdb.connect() as connection:
        text = connection.sql(f"SELECT a::VARCHAR FROM read_json('{tmp_path}/a.jsonl', columns = {{a: 'JSON'}})")
        assert json.loads(str(text.fetchall()[0][0])) == read


@pytest.mark.parametrize("words", [["describe", "records"], ["DESCRIBE Records;"], ["desc", "RECORDS"]])
def test_describe_tells_the_columns(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Columns are listed with name, type as in the tables' DDL, and comment."""
    assert main(["sql", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [column.name for column in RECORDS.columns]
    assert "offset            BIGINT                                     Offset of the record." in lines
    assert any(
        line.startswith("headers           ARRAY<STRUCT<key: STRING, value: BINARY>>  Headers") for line in lines
    )


@pytest.mark.long
@pytest.mark.parametrize("names", first([list(NAMES)[::6], list(NAMES)]), ids=["some", "all"])
def test_describe_knows_every_name(names: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Views are described, too, with types and comments of all columns; an unknown name is a line with the nearest name."""
    for name in names:
        assert main(["sql", "describe", name]) == 0
        assert all(re.fullmatch(r"\w+ +[A-Z]+.* .+\.", line) for line in capsys.readouterr().out.splitlines())
    assert main(["sql", "describe", "lag_nwo"]) == 2
    assert capsys.readouterr() == (
        "",
        "lagoon: there is no table or view lag_nwo (did you mean lag_now?); `lagoon sql` lists them\n",
    )


def test_tables_are_aligned_and_harmless(sql) -> None:
    """Numbers are right-aligned, null is spelled out, times are UTC, and no name can send commands to a terminal."""
    code, out, _ = sql("SELECT group_id, lag, captured_at, snapshot_date FROM lag_now ORDER BY lag DESC NULLS LAST")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split() == ["group_id", "lag", "captured_at", "snapshot_date"]
    assert lines[1].split() == ["billing", str(2**63 - 1), "2025-11-21T14:00:00.123Z", "2025-11-21"]
    assert lines[2].endswith(" -2  2025-11-21T14:00:00.123Z  2025-11-21")
    assert lines[3].split()[:2] == ["billing", "null"]
    assert SHOWN in lines[2]
    assert all(line.isprintable() for line in lines)
    assert sql("SELECT key, value FROM records WHERE offset = 4")[1].splitlines()[1] == r"     \xff\x1b"


def test_json_is_exact(sql) -> None:
    """64-bit integers, larger sums, null, odd names, nested values and bytes are exact, as in `fetch --json`."""
    _, out, _ = sql("SELECT group_id, lag, member_id FROM lag_now ORDER BY lag", "--json")
    assert [json.loads(line) for line in out.splitlines()] == [
        {"group_id": HOSTILE, "lag": -2, "member_id": None},
        {"group_id": "billing", "lag": 2**63 - 1, "member_id": None},
        {"group_id": "billing", "lag": None, "member_id": None},
    ]
    assert out.isascii()
    values = "key, value, [value] AS l, {'a': timestamp} AS s, MAP {'k': 1.5} AS m, 2::HUGEINT ** 3 AS p, sum(offset) OVER () * 9223372036854775807 AS big"
    _, out, _ = sql(f"SELECT {values} FROM records WHERE offset IN (0, 4) ORDER BY offset", "--format", "json")
    first, second = map(json.loads, out.splitlines())
    assert first == {
        "key": "k",
        "value": "text",
        "l": ["text"],
        "s": {"a": "2025-11-21T12:00:00.123Z"},
        "m": {"k": 1.5},
        "p": 8,
        "big": 4 * (2**63 - 1),
    }
    assert second == {**first, "key": "", "value": {"base64": "/xs="}, "l": [{"base64": "/xs="}], "s": {"a": None}}


def test_csv_can_be_read_back(sql) -> None:
    """RFC 4180: text is quoted if necessary, lines end with CRLF; null differs from empty text."""
    code, out, _ = sql(
        "SELECT group_id, lag, '' AS empty, NULL AS none, 'a,\"b' AS odd FROM lag_now ORDER BY lag", "--format", "csv"
    )
    assert code == 0
    (header, *rows) = csv.reader(io.StringIO(out, newline=""), strict=True)
    assert header == ["group_id", "lag", "empty", "none", "odd"]
    assert rows[0] == [HOSTILE, "-2", "", "", 'a,"b']
    assert out.splitlines(keepends=True)[-1] == 'billing,,"",,"a,""b"\r\n'


def test_a_column_of_nulls_has_a_line_for_each(sql) -> None:
    """A line without any character is none to most readers."""
    code, out, _ = sql("SELECT NULL AS a FROM range(2)", "--format", "csv")
    assert (code, out) == (0, 'a\r\n""\r\n""\r\n')
    assert list(csv.DictReader(io.StringIO(out, newline=""))) == [{"a": ""}] * 2


@pytest.mark.parametrize("ending", sorted({ending for one in FORMATS.values() for ending in one.suffixes}))
def test_a_file_whose_name_is_not_utf_8(sql, tmp_path: Path, ending: str) -> None:
    """Names of files are bytes; Python keeps those that are no text as lone surrogates, which Arrow refused."""
    out = tmp_path / f"a\udcff{ending}"
    assert sql("--out", str(out), "SELECT 1 AS a") == (0, "", "")
    assert out.stat().st_size


def test_csv_is_utf_8_in_every_locale(lake: Path, tmp_path: Path) -> None:
    """A pipe gets the bytes that a file gets: letters that the locale's encoding lacks were spelled out as text."""
    out, words = tmp_path / "a.csv", ("--format", "csv", "SELECT 'é€' AS \"ü\"")
    subprocess.run(command(lake, "--out", str(out), *words), check=True)
    assert out.read_bytes() == "ü\r\né€\r\n".encode()
    for encoding in ("latin-1", "ascii"):
        environ = {**os.environ, "PYTHONIOENCODING": encoding}
        ended = subprocess.run(command(lake, *words), env=environ, check=True, stdout=subprocess.PIPE)
        assert ended.stdout == out.read_bytes()


def test_intervals_are_spelled_alike_in_every_format(sql, tmp_path: Path) -> None:
    """Parquet, which has no such intervals, gets the same text; intervals within other values are a line."""
    out, statement = tmp_path / "a.parquet", "SELECT INTERVAL '1 day 13.64 seconds' AS a UNION ALL SELECT NULL"
    assert sql("--out", str(out), statement) == (0, "", "")
    assert pq.read_table(out).to_pylist() == [{"a": "1 day 00:00:13.64"}, {"a": None}]
    assert sql(statement)[1] == "a\n1 day 00:00:13.64\nnull\n"
    assert sql("--format", "csv", statement)[1] == 'a\r\n1 day 00:00:13.64\r\n""\r\n'
    assert sql("--json", statement)[1].splitlines()[0] == '{"a": "1 day 00:00:13.64"}'
    code, _, complaint = sql("--out", str(out), "SELECT [INTERVAL 1 DAY] AS a")
    assert (code, complaint.count("\n")) == (1, 1)


def test_a_plan_is_shown_as_lines(sql) -> None:
    """A table of one line, with an escape for each end of a line, could not be read. Other formats keep the columns."""
    code, out, _ = sql("-- why?\nEXPLAIN SELECT count(*) FROM records")
    assert code == 0
    assert out.count("\n") > 3
    assert "u000a" not in out
    assert all(line.isprintable() for line in out.splitlines())
    assert json.loads(sql("--json", "EXPLAIN SELECT 1")[1]).keys() == {"explain_key", "explain_value"}


def test_a_file_is_written_whole_or_not_at_all(sql, tmp_path: Path) -> None:
    """--out writes every format; after an error among the rows the earlier file is unchanged, and no other file is left."""
    out = tmp_path / "lag.parquet"
    assert sql("SELECT * FROM lag_now", "--out", str(out)) == (0, "", "")
    assert pq.read_table(out).num_rows == 3
    before = out.read_bytes()
    failing = "SELECT CASE WHEN range = 9000 THEN error('now') ELSE 'x' END AS a FROM range(10000)"
    code, _, complaint = sql(failing, "--out", str(out))
    assert (code, complaint.count("\n")) == (1, 1)
    assert [out.read_bytes(), *tmp_path.iterdir()] == [before, out]
    assert sql("SELECT 1 AS a", "--format", "csv", "--out", str(tmp_path / "a"))[0] == 0
    assert (tmp_path / "a").read_bytes() == b"a\r\n1\r\n"
    assert sql("SELECT 1", "--out", str(tmp_path / "no" / "where.json"))[2].startswith("lagoon: --out ")


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["SELECT nope FROM lag_now"], 1, 'Binder Error: Referenced column "nope" not found'),
        (
            ["SELECT * FROM lag_nwo"],
            1,
            "there is no table or view lag_nwo (did you mean lag_now?); `lagoon sql` lists them",
        ),
        (["DROP TABLE records"], 2, "DROP: lagoon sql runs SELECT and other statements that read"),
        (["SELECT", "1"], 2, "give the statement as one argument, in quotes"),
        (["SELECT 1", "--json", "--format", "csv"], 2, "--json and --format csv exclude each other"),
        (["SELECT 1", "--format", "parquet"], 2, "--format parquet: name the file with --out FILE"),
        (
            ["SELECT 1", "--engine", "duckdb", "--warehouse", "s3a://b/w"],
            2,
            "--engine duckdb reads folders of this machine: s3a://b/w needs",
        ),
        (["SELECT 1 AS a, 2 AS a", "--json"], 1, "two columns are called a: name one of them with AS"),
    ],
)
def test_faults_are_one_line(sql, arguments: list[str], code: int, line: str) -> None:
    """The line names a remedy."""
    result = sql(*arguments)
    assert result[:2] == (code, "")
    assert result[2].startswith(f"lagoon: {line}")
    assert result[2].count("\n") == 1


@pytest.mark.parametrize("form", first(["table", "csv", "json"]))
def test_head_ends_it(lake: Path, form: str) -> None:
    """Rows of an infinite result are printed at once, and a closed pipe ends the command without a traceback."""
    with subprocess.Popen(
        command(lake, "--format", form, ENDLESS), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdout
        assert run.stderr
        assert all(run.stdout.readline() for _ in range(3))
        run.stdout.close()
        assert run.stderr.read() == b""
        assert run.wait(60) == 141


def _heed_sigint() -> None:
    """A shell lets its background processes, such as this run of tests, ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it(lake: Path, number: signal.Signals, tmp_path: Path) -> None:
    """Exit 130 or 143 at once and one line, also while DuckDB searches for the next row. No temporary file stays."""
    few = "SELECT range FROM range(1_000_000_000_000) WHERE range % 1_000_000_000_000 < 5000"
    with subprocess.Popen(
        command(lake, "--json", few),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=_heed_sigint,  # noqa: PLW1509  no lock is needed for this
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as run:
        assert run.stdout
        try:
            assert run.stdout.readline() == b'{"range": 0}\n'
            assert os.listdir(tmp_path)  # noqa: PTH208
            run.send_signal(number)
            assert run.communicate(timeout=60)[1] == b"lagoon: interrupted\n"
            assert run.returncode == 128 + number
            assert not os.listdir(tmp_path)  # noqa: PTH208
        finally:
            run.kill()  # a statement that goes on would take a core for hours


def on_terminal(arguments: Sequence[str], encoding: str = "utf-8", **environ: str) -> str:
    """Return the output of a command on a terminal of 24 lines."""
    master, terminal = pty.openpty()
    with subprocess.Popen(
        arguments, stdout=terminal, stdin=subprocess.DEVNULL, env={**os.environ, **environ, "LINES": "24"}
    ) as run:
        os.close(terminal)
        shown = b""
        try:
            while piece := os.read(master, 1 << 16):
                shown += piece
        except OSError:  # the command has ended and closed its side
            pass
        assert run.wait(60) == 0
    os.close(master)
    return shown.decode(encoding)


PAGED = {"PAGER": "sed s/^/paged:/"}


@pytest.mark.proof
def test_what_is_long_goes_through_the_pager(lake: Path) -> None:
    """Output that does not fit a terminal is shown in the pager; a missing pager is skipped; closing it early is no error."""
    long, short = "SELECT * FROM range(100)", "SELECT * FROM range(3)"
    assert on_terminal(command(lake, long), **PAGED).count("paged:") == 101
    assert "paged:" not in on_terminal(command(lake, short), **PAGED)
    assert "paged:" not in on_terminal(command(lake, "--no-pager", long), **PAGED)
    assert "paged:" not in on_terminal(command(lake, "--json", long), **PAGED)
    assert on_terminal(command(lake, long), PAGER="no-such-pager -x").count("\n") == 101
    assert on_terminal(command(lake, ENDLESS), PAGER="head -2").count("\n") == 2


@pytest.mark.parametrize(("given", "options"), [({}, "-R FSX"), ({"LESS": "-i"}, "-R -i"), ({"LESS": ""}, "-R ")])
def test_less_shows_colours(lake: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], options: str) -> None:
    """Without -R it spells the escapes of tables with colours out, as ESC[1m; what else its user has set stays."""
    monkeypatch.delenv("LESS", raising=False)
    shown = on_terminal(command(lake, "SELECT * FROM range(100)"), PAGER='cat > /dev/null; echo "($LESS)"', **given)
    assert shown.strip() == f"({options})"


@pytest.mark.parametrize("form", [name for name, form in FORMATS.items() if form.blocks])
def test_no_format_steers_a_terminal(lake: Path, form: str) -> None:
    """Names are escaped on a terminal, in every format, although files have them exactly."""
    shown = on_terminal(command(lake, "--no-pager", "--format", form, "SELECT DISTINCT group_id FROM lag_now"))
    assert all(character.isprintable() or character in "\r\n" for character in shown)
    assert "u001b[31m" in shown


def test_the_pager_gets_what_the_terminal_can_show(lake: Path) -> None:
    """Letters that its encoding lacks are spelled out, as without a pager: they ended the command with a traceback."""
    statement = "SELECT 'é€' AS a FROM range(100)"
    for encoding, expected in (("latin-1:strict", "é\\u20ac"), ("utf-8", "é€")):
        shown = on_terminal(command(lake, statement), encoding.split(":")[0], **PAGED, PYTHONIOENCODING=encoding)
        assert shown.count(f"paged:{expected}") == 100


def test_metrics_steer_no_terminal(lake: Path) -> None:
    """Scrapers get names exactly, people do not."""
    shown = on_terminal([sys.executable, "-m", "kafka_lagoon", "metrics", "--warehouse", str(lake)])
    assert all(character.isprintable() or character in "\r\n" for character in shown)
    assert "u001b[31m" in shown


def test_neither_spark_nor_the_decoder_is_loaded(lake: Path) -> None:
    """Both take seconds to import."""
    arguments = command(lake, "SELECT max(lag) FROM lag_now")
    arguments[1:1] = ["-X", "importtime"]
    loaded = subprocess.run(arguments, capture_output=True, text=True, check=True).stderr
    names = {line.rpartition("|")[2].strip().partition(".")[0] for line in loaded.splitlines()}
    assert {"duckdb", "deltalake", "pyarrow"} <= names
    assert not names & {"pyspark", "py4j", "numba", "llvmlite"}


def test_sql_imports_no_messages_that_it_does_not_need() -> None:
    """The schemas of the tables do not import the registry of all 73 APIs, which takes a tenth of a second."""
    code = (
        "import sys; from kafka_lagoon.cli.main import main; main(['sql', 'SELECT 1']); "
        "print('kafka_lagoon.protocol.apis' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("count", [3, pytest.param(30, marks=pytest.mark.proof)])
def test_short_runs_end_well(lake: Path, count: int) -> None:
    """No thread of a reader outlives Python: with DeltaTable.to_pyarrow_table 14 of 50 runs ended with exit code 134."""

    def run(number: int) -> subprocess.CompletedProcess[bytes]:
        statement = ("SELECT * FROM consumer_lag_published", "SELECT * FROM records", "SELECT 1")[number % 3]
        return subprocess.run(command(lake, "--json", statement), capture_output=True, check=False)

    with ThreadPoolExecutor(2) as threads:
        runs = list(threads.map(run, range(count)))
    assert {(one.returncode, one.stderr) for one in runs} == {(0, b"")}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_has_all_that_formats_have(name: str, lake: Path, tmp_path: Path) -> None:
    """A format has a line in the help, a suffix, a place on the page, and a written file; it is a single declaration."""
    form = FORMATS[name]
    assert form.meaning in (declaration("sql").epilog), "cli/sql_formats.py: what does it write?"
    assert f"`{name}`" in page("sql") or f"--format {name}" in page("sql"), f"docs/sql.md: when is {name} of use?"
    assert form.blocks or form.to_file
    for suffix in form.suffixes or [""]:
        path = tmp_path / f"out{suffix}"
        assert main(["sql", "--warehouse", str(lake), "--format", name, "--out", str(path), "SELECT 1 AS a"]) == 0
        explicit = path.read_bytes()
        if suffix:
            assert main(["sql", "--warehouse", str(lake), "--out", str(path), "SELECT 1 AS a"]) == 0
        assert path.read_bytes() == explicit != b""


@pytest.mark.parametrize("words", [[""], [" "], [], ["describe", "lag_now"]])
@pytest.mark.parametrize("options", [["--out", "x.csv"], ["--format", "csv"], ["--json"]])
def test_a_result_is_of_a_statement(words: list[str], options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A script whose variable is empty got the list of tables in place of its file, and exit 0."""
    assert main(["sql", *options, *words]) == 2
    assert f"lagoon: {options[0]}: only with a statement" in capsys.readouterr().err


def test_an_empty_statement_lists_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """It is a variable without a value, and not the wish for a list."""
    assert main(["sql", ""]) == 2
    assert capsys.readouterr() == (
        "",
        "lagoon: the statement is empty: give a query, or leave it out to list the tables and views\n",
    )
