"""Software that only `make proof` needs is installed once, and a program that is missing is named with its package."""

import sys
from pathlib import Path

import pytest

from tests import tools
from tests.tools import Tool


def a_tool(folder: Path, *, works: bool) -> Tool:
    """A tool whose installation is a file."""
    made = folder / "made"
    command = (sys.executable, "-c", f"open({str(made)!r}, 'x'); raise SystemExit({int(not works)})")
    return Tool("a tool", made.exists, [command])


def test_a_tool_is_installed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second run finds it."""
    tool = a_tool(tmp_path, works=True)
    monkeypatch.setattr(tools, "tools", lambda: (tool,))
    monkeypatch.setattr(tools, "PROGRAMS", {})
    assert [tools.main(), tools.main()] == [0, 0]
    assert capsys.readouterr().out == "Installing a tool\n"


def test_what_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its command, which can be repeated by hand."""
    monkeypatch.setattr(tools, "tools", lambda: (a_tool(tmp_path, works=False),))
    monkeypatch.setattr(tools, "PROGRAMS", {})
    assert tools.main() == 1
    assert f"a tool could not be installed: {sys.executable} -c" in capsys.readouterr().out


def test_missing_programs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is installed before they are there."""
    monkeypatch.setattr(tools, "PROGRAMS", {"no-such-program": "its-package", "sh": "dash"})
    assert tools.main() == 1
    assert capsys.readouterr().out == "Not there: no-such-program. On Debian: apt-get install its-package\n"


def test_a_variable_names_another_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has it already need not install it again."""
    monkeypatch.setenv("STORAGE_TESTBENCH_PYTHON", str(tmp_path))
    monkeypatch.setenv("NODE_PATH", str(tmp_path))
    assert tools.is_there(tools.storage_testbench()) == tmp_path
    assert tools.azurite() == tmp_path / ".bin" / "azurite-blob"
    with pytest.raises(AssertionError, match=r"azurite-blob is not there: python -m tests\.tools installs it"):
        tools.is_there(tools.azurite())
