"""`lagoon plan` and `lagoon import`: output for people and scripts, and faults that are found before any request."""

import errno
import io
import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from kafka_lagoon.apply.plan import PlanResult
from kafka_lagoon.cli.main import main
from kafka_lagoon.cli.plan import json_lines, plan_lines
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.query.duckdb_tables import TableQuery
from tests.closed import modes_bind
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster

CLUSTER_ID = "fake"


@pytest.fixture
def state() -> Iterator[FakeCluster]:
    """Brokers with one topic."""
    state = FakeCluster()
    state.add_topic("orders", 2)
    with fake_cluster(state):
        yield state


@pytest.fixture
def server(state: FakeCluster) -> str:
    return ",".join(f"{host}:{port}" for host, port in state.addresses.values())


def test_faults_of_the_file_need_no_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All faults of the file are listed, a line each, with exit 2. No cluster is at the address."""
    file = tmp_path / "x.toml"
    file.write_text("topcs = 1\n[topics.a]\npartitions = 'two'\n")
    assert main(["plan", str(file), "-b", "127.0.0.1:1"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert f"{file}:1: topcs: is not known here (did you mean topics?)" in lines[1]
    assert main(["plan", str(tmp_path / "none.toml"), "-b", "127.0.0.1:1"]) == 2
    assert capsys.readouterr().err == f"lagoon: {tmp_path}/none.toml: No such file or directory\n"


def test_a_url_with_credentials_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """It is refused before Spark starts."""
    assert main(["plan", "s3a://AKIA:s3cret@bucket/state", "-b", "127.0.0.1:1"]) == 2
    line = capsys.readouterr().err
    assert line.startswith("lagoon: desired state: this URL has credentials in it")
    assert "s3cret" not in line


def test_a_plan_for_scripts(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each action and one for the plan, also in the file of --out; --exit-code returns 3 for a plan with actions."""
    file, out = tmp_path / "x.toml", tmp_path / "plan.json"
    file.write_text(f'cluster_id = "{CLUSTER_ID}"\n[topics.orders]\npartitions = 3\n[topics.new]\npartitions = 1\n')
    assert main(["plan", str(file), "-b", server, "--json", "--out", str(out), "--exit-code"]) == 3
    printed = capsys.readouterr().out
    assert out.read_text() == printed
    create, extend, whole = map(json.loads, printed.splitlines())
    assert (create["kind"], create["action"], create["resource_name"]) == ("action", "create_topic", "new")
    assert (extend["before"], extend["after"], extend["source"]) == ({"partitions": 2}, {"partitions": 3}, f"{file}:2")
    assert (whole["kind"], whole["actions"], whole["is_complete"]) == ("plan", 2, True)
    assert create["plan_id"] == whole["plan_id"]
    assert main(["plan", str(file), "-b", server]) == 0
    assert capsys.readouterr().out.endswith(
        f"plan {whole['plan_id']} for cluster {CLUSTER_ID}: 1 to add, 1 to change, 0 to delete\n"
    )
    assert main(["plan", str(file), "-b", server, "--out", str(tmp_path)]) == 1


def test_a_plan_that_cannot_be_written_leaves_the_last_one(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script may apply the plan of this file: after a full disk it had the beginning of one."""
    file, out = tmp_path / "x.toml", tmp_path / "plan.json"
    file.write_text(f'cluster_id = "{CLUSTER_ID}"\n[topics.new]\npartitions = 1\n')
    out.write_text("the last plan")

    def half(path: Path, text: str, *_: str) -> int:
        path.write_bytes(text[: len(text) // 2].encode())
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", half)
    assert main(["plan", str(file), "-b", server, "--out", str(out)]) == 1
    assert out.read_text() == "the last plan"
    assert sorted(tmp_path.iterdir()) == [out, file]


def test_yaml_gives_the_same_plan(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The id of a plan depends on its actions, not on the format of the file."""
    files = {
        "x.toml": f'cluster_id = "{CLUSTER_ID}"\n[topics.new]\nassignments = [[1, 2], [2, 3]]\n',
        "x.yaml": f"cluster_id: {CLUSTER_ID}\ntopics:\n  new:\n    assignments:\n      0: [1, 2]\n      1: [2, 3]\n",
    }
    ids = set()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        assert main(["plan", str(tmp_path / name), "-b", server, "--json"]) == 0
        ids.add(json.loads(capsys.readouterr().out.splitlines()[-1])["plan_id"])
    assert len(ids) == 1


def test_a_valid_state_with_a_warning(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Brokers take writes of a topic with fewer replicas than min.insync.replicas, so a note says what it means."""
    file = tmp_path / "x.toml"
    text = "partitions = 1\nreplication_factor = 1\nconfigs = { 'min.insync.replicas' = 2 }"
    file.write_text(f'cluster_id = "{CLUSTER_ID}"\n[topics.new]\n{text}\n')
    assert main(["plan", str(file), "-b", server]) == 0
    assert "lagoon: topic new: min.insync.replicas=2, and it has 1 replica: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("failures", "undone"),
    [((), ()), ((own_failure("x", Scope.cluster(), "REFUSED", "no"),), ()), ((), ("not reset",))],
)
def test_what_is_open_is_not_said_to_be_as_desired(failures: Sequence[Failure], undone: Sequence[str]) -> None:
    """A cluster is as the file says only if all that the file is about was read, and nothing has to wait."""
    plan = PlanResult(cluster_id="c", actions=(), notes=(), failures=failures, undone=undone)
    assert bool(list(plan_lines(plan))) is not bool(failures or undone)
    assert json.loads(list(json_lines(plan))[-1])["is_complete"] is not bool(failures or undone)


def test_notes_of_an_empty_plan_are_not_contradicted() -> None:
    """A broker that is to be empty keeps replicas of topics that the file does not own: the cluster is not as it says."""
    plan = PlanResult(cluster_id="c", actions=(), notes=("broker 1 keeps 3 replicas",), failures=())
    assert list(plan_lines(plan)) == ["nothing to do now"]
    assert list(plan_lines(replace(plan, notes=()))) == ["nothing to do: cluster c is as the file says"]


def test_another_cluster_is_refused(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cluster id of the file must be equal to the cluster's."""
    file = tmp_path / "x.toml"
    file.write_text('cluster_id = "another"\n[topics.orders]\npartitions = 3\n')
    assert main(["plan", str(file), "-b", server]) == 2
    assert f"{file}:1: cluster_id: is another, and the cluster's is" in capsys.readouterr().err


def test_a_folder_of_another_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file or table in a folder that this user may not enter is a line with the folder's owner, and exit 2."""
    (tmp_path / "closed").mkdir(0)
    with modes_bind():
        assert main(["plan", str(tmp_path / "closed" / "x.toml"), "-b", "127.0.0.1:1"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"lagoon: {tmp_path / 'closed'}: Permission denied: it belongs to user ")


def test_a_delta_table(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its rows are the same desired state, and give the same plan; other columns are a fault."""
    rows = [
        ("cluster_id", None, None, CLUSTER_ID),
        ("topics", "orders", "partitions", "3"),
        ("topics", "new", "partitions", "1"),
    ]
    columns = dict(zip(("section", "name", "key", "value"), map(pa.array, zip(*rows, strict=True)), strict=True))
    write_deltalake(str(tmp_path / "desired"), pa.table(columns))
    assert main(["plan", str(tmp_path / "desired"), "-b", server]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"+ topic new: create topic  ({tmp_path}/desired: row topics new partitions)"
    file = tmp_path / "x.toml"
    file.write_text(f'cluster_id = "{CLUSTER_ID}"\n[topics.orders]\npartitions = 3\n[topics.new]\npartitions = 1\n')
    assert main(["plan", str(file), "-b", server]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == lines[-1]
    write_deltalake(str(tmp_path / "other"), pa.table({"name": ["x"]}))
    assert main(["plan", str(tmp_path / "other"), "-b", server]) == 2
    assert "the columns must be section, name, key, value" in capsys.readouterr().err


def test_a_delta_table_leads_to_no_other_file(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """DuckDB reads the files of the table's folder only, whatever its log has made of the query."""
    outside = tmp_path / "outside.csv"
    outside.write_text("section,name,key,value\ntopics,new,partitions,1\n")
    write_deltalake(str(tmp_path / "desired"), pa.table({"section": ["topics"]}))
    query = TableQuery(f"SELECT * FROM read_csv('{outside}')")
    monkeypatch.setattr("kafka_lagoon.query.duckdb_tables.select_rows", lambda *_: query)
    assert main(["plan", str(tmp_path / "desired"), "-b", server]) == 2
    assert "Permission Error: Cannot access file" in capsys.readouterr().err


def test_files_of_desired_state_are_utf8_in_every_locale(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """TOML is UTF-8: on a machine of Latin-1 the file could not be read back."""
    permissions = ["permissions", "--for", "ingest", "--principal", "User:né€", "--format", "toml", "--cluster-id", "x"]
    monkeypatch.setattr("kafka_lagoon.cli.import_state._text", lambda *_: 'acls = [{ principal = "User:né€" }]')
    for words in (permissions, ["import", "-b", server]):
        output = io.BytesIO()
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(output, encoding="latin-1"))
        main(words)
        assert tomllib.loads(output.getvalue().decode())["acls"][0]["principal"] == "User:né€"
