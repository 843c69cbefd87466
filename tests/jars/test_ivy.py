"""Downloads by Ivy; a stand-in for the java command makes the results."""

from pathlib import Path

import pytest

from kafka_lagoon.errors import JarsUnavailable
from kafka_lagoon.jars import ivy
from kafka_lagoon.jars.locked_jars import jar_paths
from tests.jars.conftest import BYTES, Registry, left_in


@pytest.mark.parametrize("content", [{"one": BYTES["one"]}, {}])
def test_incomplete_download_leaves_nothing(registry: Registry, tmp_path: Path, content: dict[str, bytes]) -> None:
    """If the registry fails half-way, twice, the error names the cause and the cache is unchanged."""
    registry.gives(content, exit_code=1)
    with pytest.raises(JarsUnavailable, match="2 jars could not be downloaded: Server access error: refused"):
        jar_paths("two")
    assert registry.count() == 2
    assert left_in(tmp_path / "cache") == []


def test_options_of_java_are_no_problem_of_a_download(registry: Registry) -> None:
    """Java begins its output with JAVA_TOOL_OPTIONS, in which the password of a proxy may be."""
    java = registry.home / "bin" / "java"
    java.write_text(
        "#!/bin/sh\necho 'Picked up JAVA_TOOL_OPTIONS: -Dhttps.proxyPassword=p' >&2\necho 'No such option' >&2\nexit 1"
    )
    with pytest.raises(JarsUnavailable, match=r"^2 jars could not be downloaded: No such option$"):
        jar_paths("two")


@pytest.mark.parametrize(("options", "is_named"), [("", True), ("-Xmx1g", True), ("-Dhttps.proxyHost=p", False)])
def test_a_proxy_that_java_does_not_know(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, options: str, is_named: bool
) -> None:
    """pip reads HTTPS_PROXY and Java does not: the line names the variable that it reads."""
    registry.gives({}, exit_code=1)
    monkeypatch.setenv("HTTPS_PROXY", "http://user:password@proxy:3128")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", options)
    with pytest.raises(JarsUnavailable) as failed:
        jar_paths("two")
    assert ("; Java does not read HTTPS_PROXY: set JAVA_TOOL_OPTIONS=" in str(failed.value)) is is_named
    assert "password" not in str(failed.value)


def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without PySpark has no Ivy, and the error names the extra to install."""
    monkeypatch.setattr(ivy, "find_spec", lambda _: None)
    with pytest.raises(JarsUnavailable, match=r"not installed: pip install 'kafka-lagoon\[spark\]'"):
        ivy.spark_jars_folder()
