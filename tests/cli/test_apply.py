"""`lagoon apply` on fake brokers; more in tests/integration/test_apply.py."""

from pathlib import Path

import pytest

from kafka_lagoon.cli.main import main
from tests.admin.conftest import altering_apis, topic_apis
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup, FakeMember

__all__ = ["altering_apis", "topic_apis"]  # fixtures of tests/admin


@pytest.mark.usefixtures("altering_apis", "topic_apis")
def test_nothing_is_destroyed_while_something_before_it_has_to_wait(
    state: FakeCluster, brokers: dict[int, FakeBroker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A group that still runs may need the records: its offsets are not reset, and the deletion waits too."""
    commits = {("orders", 0): FakeCommit(20)}
    state.groups["reader"] = FakeGroup(coordinator_id=1, commits=commits, members=[FakeMember("m")], state="Stable")
    address = f"127.0.0.1:{next(iter(brokers.values())).server_address[1]}"
    file = tmp_path / "x.toml"
    file.write_text(
        'cluster_id = "fake"\n[topics.new]\npartitions = 1\n'
        '[[actions]]\naction = "reset_offsets"\ngroup = "reader"\npartitions = ["orders-0"]\nto = "latest"\n'
        '[[actions]]\naction = "delete_records"\npartitions = ["orders-0"]\nbefore = "latest"\n'
    )
    start = state.topics["orders"].partitions[0].log_start_offset
    assert main(["apply", str(file), "-b", address, "--yes", "--allow-record-deletion"]) == 3
    shown = capsys.readouterr()
    assert f"{file}:4: not reset: " in shown.err
    assert "delete records of orders-0: failed" in shown.err
    assert "something before it was not done, and it cannot be undone" in shown.err
    assert "create topic new: done" in shown.out
    assert state.topics["orders"].partitions[0].log_start_offset == start
