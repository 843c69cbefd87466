"""Every function of admin/ that alters a cluster declares whether its request may be repeated, and has a test."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kafka_lagoon.admin
from kafka_lagoon.protocol.apis import APIS

ADMIN = Path(kafka_lagoon.admin.__file__).parent
TESTS = Path(__file__).parent
# The names of all other APIs begin with a verb that changes state: CreateTopics, WriteTxnMarkers, ...
_READING = (
    "ApiVersions",
    "Describe",
    "Fetch",
    "FindCoordinator",
    "List",
    "Metadata",
    "OffsetFetch",
    "OffsetForLeaderEpoch",
)
_READING_GROUPS = ("ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe")
_BY_CONSTANT = {
    "".join(f"_{c}" if c.isupper() else c.upper() for c in api.name).strip("_"): api for api in APIS.values()
}


def _alters(constant: str) -> bool:
    api = _BY_CONSTANT.get(constant)
    return api is not None and not api.name.startswith((*_READING, *_READING_GROUPS))


def _requests(source: str) -> Iterator[tuple[str, str, ast.Call]]:
    """Function, API constant and call of each request about an API that alters."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            for call in ast.walk(function):
                if isinstance(call, ast.Call):
                    values = [*call.args, *(keyword.value for keyword in call.keywords)]
                    names = [value.id for value in values if isinstance(value, ast.Name) and _alters(value.id)]
                    yield from ((function.name, name, call) for name in names)


def _forgotten(source: str, tests: str) -> Iterator[str]:
    for function, api, call in _requests(source):
        if getattr(call.func, "id", None) == "failure_of":
            continue
        if getattr(call.func, "id", None) != "ShardedRequest":
            yield f"{function}: {api} alters the cluster: send a ShardedRequest, which can say `once`"
        elif not any(keyword.arg == "once" for keyword in call.keywords):
            yield f"{function}: say once=True, or once=False if {api} has the same effect when it is repeated"
        if function.strip("_") not in tests:
            yield f"{function}: no test of its area names it"


@pytest.mark.parametrize("path", sorted(ADMIN.glob("*.py")), ids=lambda path: path.stem)
def test_alterations_are_complete(path: Path) -> None:
    """A request that alters declares whether it may be repeated, and a test of its area names the function."""
    tests = TESTS / f"test_{path.stem}.py"
    assert list(_forgotten(path.read_text(), tests.read_text() if tests.exists() else "")) == []


def test_what_is_forgotten_is_named() -> None:
    """Each omission has a line of its own; a request that only reads needs no declaration."""
    source = """
def delete_topics(cluster, topics, deadline):
    request = ShardedRequest(api=DELETE_TOPICS, items=topics, build=_build, read=_read)
    return gather(cluster, ByController(cluster), [request], deadline)[0]

def create_acls(cluster, acls, deadline):
    return ask_cluster(cluster, CREATE_ACLS, _build(acls), SCOPE, deadline)

def describe_acls(cluster, deadline):
    return ask_cluster(cluster, DESCRIBE_ACLS, _build(), SCOPE, deadline)
"""
    assert list(_forgotten(source, "def test_create_acls(): ...")) == [
        "delete_topics: say once=True, or once=False if DELETE_TOPICS has the same effect when it is repeated",
        "delete_topics: no test of its area names it",
        "create_acls: CREATE_ACLS alters the cluster: send a ShardedRequest, which can say `once`",
    ]


def test_every_api_is_known_by_its_constant() -> None:
    """The constants of all message modules are found, so that no altering API is overlooked."""
    for constant, api in _BY_CONSTANT.items():
        (module,) = {api.request.__module__}
        assert (
            f"\n{constant} = "
            in Path(ADMIN.parent / f"{module.removeprefix('kafka_lagoon.').replace('.', '/')}.py").read_text()
        )
