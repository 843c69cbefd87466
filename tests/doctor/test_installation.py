"""Results of the doctor for jars, kernels and class archives that are missing, different, or untrusted."""

import os
from pathlib import Path

import pytest

from kafka_lagoon.doctor import installation
from kafka_lagoon.jars.locked_jars import Jar
from kafka_lagoon.records import kernel_cache

JAR = Jar(organisation="io.delta", name="delta-storage", revision="4.4.0", sha256="ab" * 32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder of Spark's jars, and a lock file of one jar with the hash of the text `right`."""
    monkeypatch.setattr(installation, "spark_jars_folder", lambda: tmp_path)
    monkeypatch.setattr(installation, "locked", lambda _: [JAR])
    monkeypatch.setattr(installation, "cached_jars", lambda _: [])
    monkeypatch.setattr(installation, "sha256_of", lambda path: JAR.sha256 if path.read_text() == "right" else "cd")
    return tmp_path


@pytest.mark.parametrize(
    ("files", "status", "words"),
    [
        ({"delta-storage-4.4.0.jar": "right"}, "ok", "1 jars in "),
        ({"delta-storage-4.4.0.jar": "wrong"}, "failed", "another SHA-256"),
        ({"delta-storage-4.3.0.jar": "right"}, "failed", "has delta-storage-4.3.0.jar, not delta-storage-4.4.0.jar"),
        ({"delta-storage-4.4.0.jar": "right", "delta-storage-4.3.0.jar": ""}, "failed", "has delta-storage-4.3.0.jar"),
        ({}, "warning", "not downloaded yet"),
    ],
)
def test_jars(folder: Path, files: dict[str, str], status: str, words: str) -> None:
    """Every jar is checked by its revision and its hash."""
    for name, text in files.items():
        (folder / name).write_text(text)
    (result,) = installation.jars()
    assert result.status == status
    assert words in result.observed
    assert (result.to_do is None) == (status == "ok")


def test_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are found in this process's cache, and missing in an empty cache."""
    import kafka_lagoon.records.encode_kernels  # noqa: PLC0415
    import kafka_lagoon.records.kernels  # noqa: F401, PLC0415

    (result,) = installation.kernels()
    assert result.status == "ok"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "empty"))
    monkeypatch.setattr(kernel_cache, "environment_folder", lambda: tmp_path)
    (result,) = installation.kernels()
    assert (result.status, result.to_do) == ("warning", "lagoon path kernels")


def test_class_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive may be missing, faulty, truncated, or writable for others."""
    monkeypatch.setenv("LAGOON_CACHE", str(tmp_path))
    missing, of_spark = installation.class_archives()
    assert of_spark.status == "warning"
    assert (missing.status, missing.to_do) == ("warning", "lagoon path classes")
    path = tmp_path / "classes" / installation.KERNEL
    path.parent.mkdir()
    path.write_bytes(os.urandom(4096))
    path.chmod(0o600)
    cut_off, _ = installation.class_archives()
    assert (cut_off.observed, cut_off.to_do) == (
        "not used: it was cut off, or others can write to it",
        "lagoon path classes",
    )
    path.with_name(f"{path.name}.size").write_text("4096\n")
    broken, _ = installation.class_archives()
    assert broken.status == "warning"
    assert broken.observed.startswith("this Java does not use it: ")
    path.chmod(0o666)
    shared, _ = installation.class_archives()
    assert shared.observed == cut_off.observed
