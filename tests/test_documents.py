"""README and docs/ agree with the code."""

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest

from kafka_lagoon.cli.ingest import ingest_arguments
from kafka_lagoon.cli.main import options_of
from kafka_lagoon.cli.maintain import maintain_arguments
from kafka_lagoon.cli.snapshot import snapshot_arguments
from kafka_lagoon.tables.schema import STATE_TABLES, TABLES
from kafka_lagoon.tables.table import Table
from tests.clock import CLOCK
from tests.delta.lake import make_lake
from tests.documents import GENERATED, PAGES, ROOT, blocks, documents, page, parts_of, renewed
from tests.query.duckdb_rows import rows_of

_CLUSTER = ("--set", "kafka.bootstrap_servers=a:1", "--warehouse", "w", "--set", "create=true")
DOCUMENTS = documents()
EVERYTHING = "\n".join(DOCUMENTS.values())
DESIGN = "pipeline/DESIGN.md"
PACKAGE = ROOT / "pipeline" / "kafka_lagoon"
DECISIONS = PAGES / "decisions"
_OTHERS = ("CHANGELOG.md", "CONTRIBUTING.md", DESIGN)  # their links must be valid, too


@pytest.mark.parametrize("path", DOCUMENTS)
def test_generated_parts_are_fresh(path: str) -> None:
    """Tables, settings, permissions and events are those of the code; `python -m tests.documents` writes them."""
    assert renewed(DOCUMENTS[path]) == DOCUMENTS[path], "run python -m tests.documents"


def test_every_generated_part_is_in_one_document() -> None:
    """Each part is on exactly one page."""
    assert sorted(parts_of(EVERYTHING)) == sorted(GENERATED)


@pytest.mark.parametrize(
    "table", [table for table in TABLES if table not in STATE_TABLES], ids=lambda table: table.name
)
def test_a_table_that_is_no_state_table_lists_all_of_its_columns(table: Table) -> None:
    """Only those of state tables are in the list of shared columns."""
    (section,) = re.findall(rf"^## {table.name}\n(.*?)(?=^## |\Z)", page("tables"), re.DOTALL | re.MULTILINE)
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [column.name for column in table.columns]


def _anchors(text: str) -> set[str]:
    """Return the valid targets of links after `#`, which GitHub makes from headings."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ +(.+?) *$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _links(text: str) -> Iterator[str]:
    """Return the targets of links and pictures, except those to other sites."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    targets = re.findall(r"\]\(([^)\s]+)\)", prose) + re.findall(r"""(?:src|srcset|href)=["']([^"']+)["']""", prose)
    return (unquote(one) for one in targets if not re.match(r"[a-z]+:", one))


@pytest.mark.parametrize("path", [*DOCUMENTS, *(name for name in _OTHERS if (ROOT / name).is_file())])
def test_every_link_leads_somewhere(path: str) -> None:
    """The file that a link names exists, and so does the heading."""
    text = (ROOT / path).read_text("utf-8")
    for link in _links(text):
        name, _, anchor = link.partition("#")
        target = (ROOT / path).parent / name if name else ROOT / path
        assert target.exists(), f"{path}: {link}"
        assert not anchor or anchor in _anchors(target.read_text("utf-8")), f"{path}: {link}"


def _listed(index: str) -> list[str]:
    """Return the pages that the tables of an index page name."""
    return re.findall(r"^\| \[[^]]+\]\(([^)#]+)\) \|", page(index), re.MULTILINE)


def test_every_page_is_in_the_index() -> None:
    """docs/README.md names each page once, and docs/decisions/README.md each page of decisions."""
    listed = [*_listed("README"), *(f"decisions/{name}" for name in _listed("decisions/README"))]
    pages = {path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.md")} - {"README.md"}
    assert sorted(listed) == sorted(set(listed))
    assert pages - set(listed) == set()


def test_design_is_short() -> None:
    """DESIGN.md can be read in a quarter of an hour: it has at most 300 lines."""
    assert len((ROOT / DESIGN).read_text("utf-8").splitlines()) <= 300


def _decisions(path: Path) -> list[list[int]]:
    """Return the numbers in each heading of a page of decisions."""
    headings = re.findall(r"^## ([\d, and]+)\. ", path.read_text("utf-8"), re.MULTILINE)
    return [[int(number) for number in re.findall(r"\d+", heading)] for heading in headings]


def test_every_decision_is_on_one_page() -> None:
    """The numbers have no gaps and no duplicates, the newest is first, and the index has the page of each decision."""
    by_page = {path.name: _decisions(path) for path in sorted(DECISIONS.glob("*.md")) if path.name != "README.md"}
    numbers = sorted(chain.from_iterable(chain.from_iterable(by_page.values())))
    assert numbers == list(range(1, len(numbers) + 1))
    for name, headings in by_page.items():
        newest = [max(heading) for heading in headings]
        assert newest == sorted(newest, reverse=True), f"{name}: newest first"
        (row,) = (line for line in page("decisions/README").splitlines() if line.startswith(f"| [{name}]"))
        assert row.endswith(f"| {', '.join(map(str, sorted(chain.from_iterable(headings))))} |"), name


def _named_paths(text: str) -> set[str]:
    """Return files and folders between backquotes: names with a suffix, or with a slash at the end; `<name>` is any name."""
    quoted = re.findall(r"`([\w.<>*/-]+)`", text)
    return {name for name in quoted if re.fullmatch(r"[\w<>*-].*(?:/[^/]*\.\w+|/)|[\w<>*-]+\.py", name)}


@pytest.mark.parametrize("path", [DESIGN, *(one for one in DOCUMENTS if one.startswith("docs/decisions/"))])
def test_every_path_that_is_named_exists(path: str) -> None:
    """A path is relative to the top folder, the package, or docs/."""
    for name in _named_paths((ROOT / path).read_text("utf-8")):
        pattern = re.sub(r"<\w+>", "*", name)
        assert any(any(folder.glob(pattern)) for folder in (ROOT, PACKAGE, PAGES)), f"{path}: {name}"


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_page_opens_with_what_it_is_for(path: str) -> None:
    """A page begins with a title and a sentence."""
    assert re.match(r"# [^\n]+\n\n[A-Z`][^\n|#]+", DOCUMENTS[path]), path


def test_every_make_target_that_is_named_exists() -> None:
    """Every `make` command in README or docs/ is a target of the Makefile."""
    named = set(re.findall(r"(?:`|^)make (\w+)", EVERYTHING, re.MULTILINE))
    printed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    offered = set(re.findall(r"^make (\w+)", printed, re.MULTILINE))
    assert {"demo", "test"} <= named
    assert named <= offered


def test_what_is_installed_can_be_had() -> None:
    """No package index has a release yet, as installation.md says, so commands name the wheel."""
    assert "There is no release on a package index yet" in page("installation")
    assert [path for path, text in DOCUMENTS.items() if re.search(r"pip install [^`\n]*\bkafka-lagoon\b", text)] == []


def test_every_command_that_is_named_exists() -> None:
    """`lagoon --help` lists every command in README and docs/."""
    named = set(re.findall(r"(?<![-\w/])lagoon (\w+)\b(?= |`|$)", _code(EVERYTHING), re.MULTILINE))
    printed = subprocess.run(
        [sys.executable, "-m", "kafka_lagoon", "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    assert {"snapshot", "sql", "kafka"} <= named
    assert named <= set(re.findall(r"^  (\w+) ", printed, re.MULTILINE))


def _code(text: str) -> str:
    """Return the text between backquotes, and the code blocks."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return "\n".join([*blocks(text), *re.findall(r"`([^`\n]+)`", prose)])


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a warehouse, like that of a reader of the pages."""
    folder = tmp_path_factory.mktemp("documents")
    (folder / "warehouse").mkdir()
    make_lake(folder / "warehouse")
    return folder


def _reasons(path: Path) -> set[str]:
    """Return the constants of a module whose value is their own name, as those of reasons are."""
    assigned = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.Assign)]
    names = {node.id for one in assigned for node in ast.walk(one) if isinstance(node, ast.Name)}
    return {str(node.value) for one in assigned for node in ast.walk(one) if isinstance(node, ast.Constant)} & names


def test_every_reason_of_a_range_is_explained() -> None:
    """Whoever finds a reason in `record_ranges.problem` finds on the page what it means."""
    others = {"unread_positions.py", "range_history.py"}  # reasons of consumer_lag and of view superseded_ranges
    modules = [path for folder in ("fetch", "ingest") for path in (PACKAGE / folder).glob("*.py")]
    reasons = set().union(*(_reasons(path) for path in modules if path.name not in others))
    explained = re.findall(r"\b[A-Z_]{4,}\b", " ".join(re.findall(r"^\| ([^|]+) \|", page("ingest"), re.MULTILINE)))
    assert {"LOST", "STOPPED"} <= reasons
    assert reasons <= set(explained), "docs/ingest.md: a row for each reason in the table of `problem`"


@pytest.mark.long
def test_the_first_query_runs(lake: Path) -> None:
    """README's first query runs on two snapshots of another day."""
    statement = blocks(DOCUMENTS["README.md"], "sql")[0]
    with rows_of(lake / "warehouse", statement) as rows:
        assert rows.schema.names == ["cluster", "slot", "group_id", "lag", "known", "partitions"]
    moved = statement.replace("snapshot_date = DATE '2026-11-17'", "snapshot_date = DATE '2025-11-21'")
    assert moved != statement
    with rows_of(lake / "warehouse", moved) as rows:
        shown = pa.Table.from_batches(list(rows.batches), rows.schema).to_pylist()
    assert [(int(one["lag"]), one["known"], one["partitions"]) for one in shown] == [
        (5, 1, 1),
        (2**63 - 1, 1, 2),
        (-2, 1, 1),
    ]


@pytest.mark.long
def test_every_question_runs(lake: Path) -> None:
    """The statements about history run unchanged, and tell clusters apart; tests/query/views tests their results."""
    statements = [statement for statement in blocks(page("sql"), "sql")[0].split(";") if statement.strip()]
    assert len(statements) == 8
    for statement in statements:
        with rows_of(lake / "warehouse", statement) as rows:
            assert rows.schema.names[0] == "cluster"


@pytest.mark.long
@pytest.mark.parametrize("reader", ["duckdb", "polars", "deltalake"])
def test_readers_read(
    lake: Path, reader: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lines for a notebook run unchanged in the folder of the warehouse."""
    (snippet,) = (
        one for one in blocks(page("sql"), "python") if re.search(rf"^(?:import|from) {reader}\b", one, re.MULTILINE)
    )
    monkeypatch.chdir(lake)
    exec(snippet, {})  # noqa: S102  the code of the page
    assert ("billing" if reader != "deltalake" else "4") in capsys.readouterr().out


def _examples() -> list[list[str]]:
    """Return the words of every `lagoon JOB ...` at the beginning of a line of a code block."""
    lines = [line.removeprefix(".venv/bin/") for block in blocks(EVERYTHING) for line in block.splitlines()]
    words = [shlex.split(line, comments=True) for line in lines if line.startswith("lagoon ")]
    return [one[1:] for one in words if one[1] in {"snapshot", "ingest", "maintain"}]


@pytest.mark.parametrize("example", _examples(), ids=" ".join)
def test_every_example_of_a_job_has_options_that_it_takes(example: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cluster and a warehouse, the configuration of every example is valid."""
    monkeypatch.chdir(ROOT)
    job, *options = example
    arguments = [one for one in options if one != "--conf" and not one.endswith(".toml")]
    parsed = options_of(job, [*arguments, *_CLUSTER])
    match job:
        case "snapshot":
            snapshot_arguments(parsed, {}, CLOCK)
        case "ingest":
            chosen = {"--topics", "--pattern"} & set(arguments)
            by_settings = {} if chosen else {"LAGOON_INGEST__TOPICS": "orders"}
            ingest_arguments(parsed, by_settings, CLOCK)
        case _:
            maintain_arguments(parsed, {})


def test_there_are_examples() -> None:
    """The test above finds examples."""
    assert {one[0] for one in _examples()} >= {"ingest", "maintain"}
