"""Results of the doctor for Python, Java, Spark and packages that are missing, too old, or newer than tested versions."""

import os
import sys
from pathlib import Path

import pytest

from kafka_lagoon.doctor import versions
from kafka_lagoon.doctor.versions import is_within
from kafka_lagoon.errors import JarsUnavailable


@pytest.mark.parametrize(
    ("release", "bounds", "fits"),
    [
        ("4.2.0", "<4.3,>=4.2", True),
        ("4.2", ">=4.2.0", True),
        ("4.10.1", "<4.3,>=4.2", False),
        ("2.5.0rc1", "<2.5,>=1.26", False),
        ("2.16.1", "==2.16.1", True),
        ("1!2", "", True),
    ],
)
def test_bounds(release: str, bounds: str, fits: bool) -> None:
    """Versions are compared as numbers, not as text."""
    assert is_within(release, bounds) is fits


def java_that_says(folder: Path, text: str) -> str:
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{text}\nEND\n")
    program.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ('openjdk version "17.0.12" 2024-07-16', "ok", "Java 17"),
        ('java version "1.8.0_402"', "failed", "Java 8"),
        ('openjdk version "11.0.2" 2019-01-15', "failed", "Java 11"),
        ('openjdk version "26-ea" 2026-03-17', "warning", "Java 26, newer than what was tried"),
        ("Segmentation fault", "failed", "it does not say its version"),
    ],
)
def test_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, status: str, words: str) -> None:
    """Java has several forms of version text."""
    monkeypatch.setenv("JAVA_HOME", java_that_says(tmp_path, text))
    (result,) = versions.java()
    assert (result.status, result.observed) == (status, words)
    assert (result.to_do is None) == (status == "ok")


def test_java_for_a_user_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every job would end with Hadoop's `Invalid UID`."""
    monkeypatch.setenv("JAVA_HOME", java_that_says(tmp_path, 'openjdk version "17.0.15"'))
    monkeypatch.setattr(os, "geteuid", lambda: 54_321)
    (result,) = versions.java()
    assert (result.status, result.to_do) == (
        "failed",
        "add a line for it to /etc/passwd, or run as a user that has one",
    )


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the places where Java was searched."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JarsUnavailable, match=r"no java in JAVA_HOME .*: install Java 17 or newer"):
        list(versions.java())


@pytest.mark.parametrize(
    ("current", "status"), [((3, 10), "failed"), ((3, 11), "ok"), ((3, 13), "ok"), ((3, 15), "warning")]
)
def test_python(monkeypatch: pytest.MonkeyPatch, current: tuple[int, int], status: str) -> None:
    """All tested versions pass."""
    monkeypatch.setattr(sys, "version_info", (*current, 0))
    (result,) = versions.python()
    assert result.status == status


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Spark 4.2.0 (git revision 1) built for Hadoop 3.4.2\n", "ok"),
        ("Spark 3.5.7 built for Hadoop 3.3.4\n", "failed"),
        (None, "not_checked"),
    ],
)
def test_another_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, status: str) -> None:
    """SPARK_HOME has the Spark of jobs, with any installed PySpark."""
    if text:
        (tmp_path / "RELEASE").write_text(text)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (result,) = versions.spark()
    assert result.status == status


def test_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """By extra: all installed, some missing, all missing, and an untested version."""
    wanted = [
        "pydantic<3,>=2.7",
        'pyarrow<27,>=18; extra == "records"',
        'numba>=0.62; extra == "records"',
        'duckdb<3,>=2; extra == "sql"',
        'pyyaml<7,>=6; extra == "yaml"',
        'kafka-lagoon[records]; extra == "all"',
        'pytest>=9; extra == "test"',
    ]
    installed = {"pydantic": "2.14.3", "pyarrow": "26.0.1", "duckdb": "3.0.0"}
    monkeypatch.setattr(versions, "requires", lambda _: wanted)
    monkeypatch.setattr(versions, "_installed", installed.get)
    results = {one.subject: (one.status, one.observed) for one in versions.packages()}
    assert results == {
        "kafka-lagoon": ("ok", "pydantic 2.14.3"),
        "kafka-lagoon[records]": ("failed", "not installed: numba"),
        "kafka-lagoon[sql]": ("warning", "duckdb 3.0.0 (wanted <3,>=2)"),
        "kafka-lagoon[yaml]": ("not_checked", "this extra is not installed"),
    }


def test_this_environment() -> None:
    """The environment of the tests passes."""
    statuses = [one.status for one in (*versions.python(), *versions.packages(), *versions.spark())]
    assert set(statuses) == {"ok"}
