"""The settings file: --conf, then LAGOON_CONF, then lagoon.toml of the current folder; a relative warehouse is beside it."""

import json
import os
from argparse import Namespace
from pathlib import Path

import pytest

from kafka_lagoon.cli.clusters import chosen_cluster
from kafka_lagoon.cli.conf_file import ConfFile, conf_file
from kafka_lagoon.cli.file_modes import loaded
from kafka_lagoon.cli.main import main
from kafka_lagoon.errors import ConfigError

CLUSTER = '[kafka]\nbootstrap_servers = "localhost:1"\n'


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LAGOON_CONF")


def given(conf: Path | None = None, **more: object) -> Namespace:
    named = {"bootstrap_servers": None, "cluster": None, "kafka_properties": None, "set": [], **more}
    return Namespace(conf=conf, **named)


def test_the_first_of_three_places(tmp_path: Path) -> None:
    """The option wins, then the variable, then the folder; an empty variable reads no file."""
    assert conf_file(given(), {}) == ConfFile(None)
    (tmp_path / "lagoon.toml").write_text(CLUSTER)
    assert conf_file(given(), {}) == ConfFile(Path("lagoon.toml"), "the current folder")
    assert conf_file(given(), {"LAGOON_CONF": "/etc/l.toml"}) == ConfFile(Path("/etc/l.toml"), "LAGOON_CONF")
    assert conf_file(given(Path("given.toml")), {"LAGOON_CONF": "/etc/l.toml"}) == ConfFile(Path("given.toml"))
    assert conf_file(given(), {"LAGOON_CONF": ""}) == ConfFile(None)
    assert loaded(given(), {}, tables_needed=False).kafka is not None


def test_a_file_that_others_can_alter_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could send a password to another server; named by an option or the variable it is read."""
    path = tmp_path / "lagoon.toml"
    path.write_text(CLUSTER)
    path.chmod(0o666)
    with pytest.raises(ConfigError, match="can be altered by other users: --conf "):
        conf_file(given(), {})
    assert conf_file(given(path), {}).path == conf_file(given(), {"LAGOON_CONF": str(path)}).path == path
    path.chmod(0o600)
    monkeypatch.setattr("kafka_lagoon.cli.conf_file.os.geteuid", lambda: path.stat().st_uid + 1)
    if path.stat().st_uid:
        with pytest.raises(ConfigError, match="can be altered by other users"):
            conf_file(given(), {})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link to another user")
def test_a_link_of_another_user_is_not_followed(tmp_path: Path) -> None:
    """In a shared folder somebody else would choose which of our files is read, and could change the choice after the check."""
    (tmp_path / "production.toml").write_text(CLUSTER)
    link = tmp_path / "lagoon.toml"
    link.symlink_to("production.toml")
    assert conf_file(given(), {}).path == Path("lagoon.toml")
    os.lchown(link, 12345, 12345)
    with pytest.raises(ConfigError, match="can be altered by other users: --conf "):
        conf_file(given(), {})
    assert conf_file(given(link), {}).path == link


def test_faults_name_the_file_that_nobody_named(tmp_path: Path) -> None:
    """A missing file of LAGOON_CONF is a fault, and faults of settings say where these are from."""
    with pytest.raises(ConfigError) as raised:
        loaded(given(), {"LAGOON_CONF": "none.toml"}, cluster_needed=False)
    assert list(raised.value.problems) == [
        "LAGOON_CONF none.toml: No such file or directory",
        f"settings are those of {tmp_path}/none.toml (by LAGOON_CONF); LAGOON_CONF= reads no file",
    ]
    (tmp_path / "lagoon.toml").write_text("[clusters.a]\nbootstrap_servers = 'a:1'\n")
    with pytest.raises(ConfigError) as raised:
        chosen_cluster(given(bootstrap_servers="b:1"), {})
    assert list(raised.value.problems) == [
        "-b beside [clusters.NAME]: --cluster NAME (a) says whose servers it replaces",
        f"settings are those of {tmp_path}/lagoon.toml (by the current folder); LAGOON_CONF= reads no file",
    ]


def test_bootstrap_servers_alone(tmp_path: Path) -> None:
    """They are enough without a file; with one they replace the servers of its cluster."""
    assert chosen_cluster(given(bootstrap_servers="b:1"), {}).settings is None
    (tmp_path / "lagoon.toml").write_text(CLUSTER + 'client_id = "night"\n')
    kafka = chosen_cluster(given(bootstrap_servers="b:1"), {}).kafka
    assert (kafka.bootstrap_servers, kafka.client_id) == ("b:1", "night")
    (tmp_path / "lagoon.toml").write_text("[clusters.spare]\nsecurity_protocol = 'SSL'\n")
    spare = chosen_cluster(given(bootstrap_servers="b:1", cluster="spare"), {}).kafka
    assert (spare.bootstrap_servers, spare.security_protocol) == ("b:1", "SSL")


@pytest.mark.parametrize("named", ["--conf", "LAGOON_CONF", "the current folder"])
def test_a_run_says_first_what_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], named: str
) -> None:
    """The first line of its log has the file and what named it."""
    conf = tmp_path / ("lagoon.toml" if named == "the current folder" else "other.toml")
    conf.write_text(f'warehouse = "none"\n{CLUSTER}')
    if named == "LAGOON_CONF":
        monkeypatch.setenv("LAGOON_CONF", str(conf))
    assert main(["snapshot", *(["--conf", str(conf)] if named == "--conf" else [])]) == 2
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    first = events[0]
    assert (first["event"], first["job"], first["conf"], first["conf_named_by"]) == (
        "run_started",
        "snapshot",
        str(conf),
        named,
    )
    assert events[-1]["event"] == "run_finished"
    assert "there is no" in events[-1]["error"]


@pytest.mark.parametrize(("argument", "variable"), [("lagoon.toml", ""), (None, "lagoon.toml")])
def test_a_current_folder_that_was_deleted(
    argument: str | None,
    variable: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A relative name is of a file that is not there: that is one line, where the path of the folder was a traceback."""
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    monkeypatch.setenv("LAGOON_CONF", variable)
    words = ["--conf", argument] if argument else []
    assert main(["report", *words, "--warehouse", str(tmp_path), "--out", str(tmp_path / "page.html")]) == 2
    assert "lagoon.toml" in capsys.readouterr().err
