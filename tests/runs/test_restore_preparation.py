"""A restore is prepared from what the archive, the newest snapshots and the target say, before anything is sent."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.runs import restore_preparation
from kafka_lagoon.runs.restore_preparation import RestoreRun, requested_topics


def a_run(**arguments: Any) -> RestoreRun:
    """Make a run that reads and sends nothing."""
    request = RestoreRequest(from_cluster="old", to_cluster="new", **arguments)
    return cast("RestoreRun", SimpleNamespace(request=request, warehouse=None))


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_topics_of_a_pattern_keep_names_apart(monkeypatch: pytest.MonkeyPatch, is_dry_run: bool) -> None:
    """A topic that the pattern adds may not get the name that another one gets; each is named, and it is known at once."""
    monkeypatch.setattr(restore_preparation, "matching_topics", lambda *_: ["orders", "orders-copy", "orders-eu"])
    arguments = {"topics": ("orders",), "pattern": "orders.*", "is_dry_run": is_dry_run}
    assert requested_topics(a_run(**arguments)) == ["orders", "orders-copy", "orders-eu"]
    with pytest.raises(ConfigError) as raised:
        requested_topics(a_run(renames={"orders": "orders-copy"}, **arguments))
    assert raised.value.problems == ("--rename: several topics would become orders-copy: orders, orders-copy",)
