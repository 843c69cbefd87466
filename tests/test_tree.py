"""Every module of the product has tests in the same place: `fetch/reader.py` in `tests/fetch/test_reader.py`.

Other modules are in tests/tree.txt with the test that covers them and why. Modules of messages are excepted, because the oracle
compares each registered API with Kafka's own code, and so are `__init__.py` files that only have a docstring.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from kafka_lagoon.protocol.apis import APIS

TESTS = Path(__file__).parent
PRODUCT = TESTS.parent / "pipeline" / "kafka_lagoon"
MESSAGES = "protocol/messages"
# Folders with tests about everything at once.
_ABOUT_ALL = ("bench", "cluster", "integration", "oracle", "jobs", "fake", "proof", "reference", "schedules")


def _listed() -> dict[str, tuple[str, str]]:
    """Return module (or test without a module) -> the file that covers it (empty for a test), and why."""
    lines = [line for line in (TESTS / "tree.txt").read_text("utf-8").splitlines() if line and line[0] not in "#["]
    entries: dict[str, tuple[str, str]] = {}
    for line in lines:
        name, _, covered = line.partition(": ")
        test, _, why = covered.partition("(")
        if name in entries:
            TWICE.append(name)
        entries[name] = (test.strip(), why.removesuffix(")"))
    return entries


TWICE: list[str] = []
LISTED = _listed()


def _is_only_prose(path: Path) -> bool:
    return all(isinstance(node, ast.Expr) for node in ast.parse(path.read_text("utf-8")).body)


def _modules() -> Iterator[str]:
    for path in sorted(PRODUCT.rglob("*.py")):
        name = path.relative_to(PRODUCT).as_posix()
        if not (name.startswith(MESSAGES) or (path.name == "__init__.py" and _is_only_prose(path))):
            yield name


def _test_of(module: str) -> str:
    path = PurePosixPath(module)
    name = path.parent.name if path.name == "__init__.py" else path.stem
    return str(path.with_name(f"test_{name.strip('_')}.py"))


MODULES = {module: _test_of(module) for module in _modules()}


def test_every_module_has_its_tests() -> None:
    """Its tests are in the file of its name, or a line of the list says where and why, but not both."""
    for module, test in MODULES.items():
        mirrored = (TESTS / test).is_file()
        assert mirrored or module in LISTED, f"write tests/{test}, or list what covers {module} in tests/tree.txt"
        assert not (mirrored and module in LISTED), f"{module} has tests/{test}: remove its line from tests/tree.txt"


def test_no_line_of_the_list_is_stale() -> None:
    """Each line names a module or test file, a test file that covers it, and a reason; the files exist."""
    for name, (test, why) in LISTED.items():
        if _is_test(name):
            assert (TESTS / name).is_file(), f"tests/tree.txt: there is no tests/{name}"
            assert name not in MODULES.values(), f"tests/tree.txt: {name} has a module: remove the line"
            assert why, f"tests/tree.txt: what is {name} about?"
        else:
            assert name in MODULES, f"tests/tree.txt: there is no module {name}"
            assert (TESTS / test).is_file(), f"tests/tree.txt: {name} is covered by {test}, which there is not"
            assert why, f"tests/tree.txt: why has {name} no tests of its own?"


def test_nothing_is_listed_twice() -> None:
    """Each module has one line."""
    assert TWICE == []


def _is_test(name: str) -> bool:
    return PurePosixPath(name).name.startswith("test_")


def _orphans(modules: Mapping[str, str]) -> Iterator[str]:
    for path in sorted(TESTS.rglob("test_*.py")):
        name = path.relative_to(TESTS).as_posix()
        if name.split("/")[0] not in _ABOUT_ALL and not name.startswith(MESSAGES) and name not in modules.values():
            yield name


def test_every_test_file_has_its_module() -> None:
    """When a module is renamed, so are its tests; tests of several modules are in the list."""
    assert [name for name in _orphans(MODULES) if name not in LISTED] == []


def test_every_module_of_messages_is_in_the_registry() -> None:
    """The oracle only tests registered messages; a test of one message has the name of its module."""
    registered = {type_.__module__.rpartition(".")[2] for api in APIS.values() for type_ in (api.request, api.response)}
    modules = {path.stem for path in (PRODUCT / MESSAGES).glob("*.py")} - {"__init__"}
    tested = {path.stem.removeprefix("test_") for path in (TESTS / MESSAGES).glob("test_*.py")}
    assert modules == registered
    assert tested <= modules
