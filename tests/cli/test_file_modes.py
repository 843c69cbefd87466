"""Files that commands write are readable only for their user, unless settings or an existing warehouse allow more."""

import os
import stat
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_lagoon.cli.file_modes import loaded, umask_of
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.settings_sources import load
from tests.fake.broker import FakeBroker
from tests.jobs.commands import lagoon, run, submit

SHELL_UMASK = 0o022  # the usual umask of users


@pytest.fixture(autouse=True)
def _umask() -> Iterator[None]:
    """Set the umask of a shell for commands that a test starts, and restore it after the test."""
    before = os.umask(SHELL_UMASK)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """Return files below a folder that other users can access; a closed folder closes its content."""
    reached = []
    for path in folder.iterdir():
        if not path.is_symlink() and path.lstat().st_mode & 0o077:
            reached.append(f"{stat.filemode(path.lstat().st_mode)} {path.name}")
            reached += open_to_others(path) if path.is_dir() else []
    return reached


@pytest.mark.parametrize(
    ("folder", "umask", "expected"),
    [
        (None, None, 0o077),
        (0o700, None, 0o077),
        (0o750, None, 0o027),
        (0o755, None, 0o022),
        (0o000, None, 0o077),
        (0o550, None, 0o027),
        (0o755, "077", 0o077),
        (None, "027", 0o027),
        (None, "0022", 0o022),
    ],
)
def test_modes_of_new_files(tmp_path: Path, folder: int | None, umask: str | None, expected: int) -> None:
    """The setting decides, then the folder of an existing warehouse, so that its readers can go on; else only the user."""
    lake = tmp_path / "lake"
    if folder is not None:
        lake.mkdir()
        lake.chmod(folder)
    assigned = [f"warehouse={lake}", *([f"umask={umask}"] if umask else [])]
    assert umask_of(load(None, {}, assigned, cluster_needed=False)) == expected
    options = Namespace(conf=None, kafka_properties=None, set=[])
    loaded(options, {}, assigned, cluster_needed=False)
    assert os.umask(0o022) == expected


def test_a_log_file_has_the_mode_of_other_files(tmp_path: Path) -> None:
    """It is opened before the settings are read, for its user alone. A file that was there keeps its mode."""
    new, old = tmp_path / "new", tmp_path / "old"
    old.touch(mode=0o600)
    options = ("--warehouse", str(tmp_path / "lake"), "--set", "kafka.bootstrap_servers=127.0.0.1:1")
    for path in (new, old):
        lagoon("ingest", *options, "--log-file", str(path), LAGOON_UMASK="027")
    private = tmp_path / "private"
    lagoon("ingest", *options, "--log-file", str(private))
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (new, old, private)]
    assert modes == [0o640, 0o600, 0o600]


@pytest.mark.parametrize("text", ["rwx", "8", "77", "09", "1777", "777", "0177"])
def test_a_umask_is_octal(text: str) -> None:
    """The umask is octal, as in chmod and systemd."""
    with pytest.raises(ConfigError, match="umask: must be 0 and two octal digits"):
        load(None, {}, ["warehouse=x", f"umask={text}"], cluster_needed=False)


@pytest.mark.proof
@pytest.mark.spark
def test_jobs_keep_their_files_private(brokers: dict[int, FakeBroker], tmp_path: Path) -> None:
    """Tables, locks, reports, logs and temporary files are private, with a JVM of our own and with Spark."""
    server = f"kafka.bootstrap_servers=127.0.0.1:{next(iter(brokers.values())).server_address[1]}"
    (tmp_path / "tmp").mkdir(mode=0o755)
    options = ("--warehouse", str(tmp_path / "lake"), "--log-file", str(tmp_path / "events.jsonl"))
    environ = {"TMPDIR": str(tmp_path / "tmp")}
    runs = [
        lagoon("snapshot", *options, "--set", server, **environ),
        submit("maintain", *options, **environ),
        submit("snapshot", "--warehouse", str(tmp_path / "submitted"), "--set", server, **environ),
        lagoon("report", *options, "--out", str(tmp_path / "page.html"), **environ),
        lagoon(
            "sql", "--warehouse", str(tmp_path / "lake"), "--out", str(tmp_path / "a.csv"), "SELECT 1 AS a", **environ
        ),
    ]
    assert [done.returncode for done in runs if done.returncode not in (0, 3)] == [], [done.stderr for done in runs]
    assert (tmp_path / "page.html").exists()
    for lake in ("lake", "submitted"):
        assert (tmp_path / lake / "snapshots" / "_delta_log").is_dir()
    assert open_to_others(tmp_path) == ["drwxr-xr-x tmp"]


@pytest.mark.proof
@pytest.mark.spark
def test_spark_spills_into_a_private_folder(tmp_path: Path) -> None:
    """Blocks, shuffles and spills of a local session are in a private folder that is removed; so are Delta's files."""
    script = (
        "import os, pathlib\n"
        "from kafka_lagoon.delta.session import session\n"
        "os.umask(0o077)\n"
        "spark = session('modes')\n"
        f"spark.range(9).repartition(2).write.format('delta').save({str(tmp_path / 'table')!r})\n"
        "folder = pathlib.Path(spark.conf.get('spark.local.dir'))\n"
        "print(oct(folder.stat().st_mode & 0o777), any(folder.glob('blockmgr-*')), folder)\n"
        "spark.stop()\n"
    )
    done = run(["python", "-c", script])
    mode, has_blocks, folder = done.stdout.split()
    assert (mode, has_blocks) == ("0o700", "True"), done.stderr
    assert not Path(folder).exists()
    assert open_to_others(tmp_path) == []
