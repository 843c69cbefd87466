"""Files of the textfile collector are replaced as a whole."""

import os
from pathlib import Path

import pytest

from kafka_lagoon.metrics.exposition import Metric, Sample
from kafka_lagoon.metrics.textfile import file_name, replace_file, replaced_place
from tests.metrics.parsed import in_file

SAMPLE = Sample(Metric("lagoon_x", "X."), (), 1)


def test_a_file_is_replaced(tmp_path: Path) -> None:
    """The new content has the old name, is readable for others with any umask, and no other file is left."""
    path = tmp_path / "lagoon.prom"
    path.write_text("old")
    before = path.stat().st_ino
    before_umask = os.umask(0o077)
    replace_file(path, [SAMPLE])
    os.umask(before_umask)
    assert in_file(path) == {("lagoon_x", frozenset()): 1}
    assert path.stat().st_ino != before
    assert path.stat().st_mode & 0o777 == 0o644
    assert [one.name for one in tmp_path.iterdir()] == ["lagoon.prom"]


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """If the folder is missing, or the name is a folder, the error names the path, and no partial file is left."""
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "none" / "lagoon.prom", [SAMPLE])
    (tmp_path / "lagoon.prom" / "x").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        replace_file(tmp_path / "lagoon.prom", [SAMPLE])
    assert [one.name for one in tmp_path.iterdir()] == ["lagoon.prom"]


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    """A pipe, a link and /dev/stdout, which is one, keep their names: for root the whole machine would lose /dev/null."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    for name, reason in (("pipe", "not a file"), ("link", "a link")):
        with pytest.raises(OSError, match=reason):
            replace_file(tmp_path / name, [SAMPLE])
    assert replaced_place(tmp_path / "pipe", "/lake") is None
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [("prod", "lagoon-run-snapshot-prod.prom"), ("../a b", "lagoon-run-snapshot-..%2Fa%20b.prom")],
)
def test_any_cluster_has_a_name_of_its_own(cluster: str, expected: str) -> None:
    """Users choose names of clusters, and no name leaves the folder."""
    assert file_name("run", "snapshot", cluster) == expected
