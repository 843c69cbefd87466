"""`lagoon apply` on fake brokers; more in tests/integration/test_apply.py."""

from pathlib import Path
from typing import Any, cast

import pytest

from kafka_lagoon.apply.plan import PlanResult
from kafka_lagoon.cli.main import main
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.runs import apply as apply_steps
from tests.admin.conftest import altering_apis, topic_apis
from tests.clock import CLOCK
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup, FakeMember
from tests.fake.faults import Close, Fault
from tests.short_timeouts import short_timeouts

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
    file.write_text(
        'cluster_id = "fake"\n'
        '[[actions]]\naction = "reset_offsets"\ngroup = "reader"\npartitions = ["orders-0"]\nto = "latest"\n'
    )
    assert main(["apply", str(file), "-b", address, "--yes"]) == 3
    shown = capsys.readouterr()
    assert f"{file}:2: not reset: " in shown.err
    assert "nothing to do" not in shown.out  # what waits is still to be done, as `lagoon plan` has it


@pytest.mark.usefixtures("altering_apis", "topic_apis")
@pytest.mark.parametrize(
    ("text", "options", "exit_code", "reason"),
    [
        ('[[acls]]\nprincipal = "User:a"\noperation = "READ"\nresource_type = "GROUP"\nresource_name = "g"\n', (), 1, "DescribeAcls: SECURITY_DISABLED"),
        ("", ("--plan", "0123456789abcdef"), 1, "and not 0123456789abcdef"),
        ("", ("--dry-run",), 0, ""),
        ("[topics.orders]\npartitions = 5\n", (), 2, "5 are fewer than the 6 that topic orders has"),
        ('[[actions]]\naction = "delete_group"\ngroup = "g"\n', (), 2, "delete group g needs --allow-deletions"),
    ],
)  # fmt: skip
def test_nothing_is_changed_unless_the_plan_is_whole_and_wanted(
    state: FakeCluster, brokers: dict[int, FakeBroker], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    text: str, options: tuple[str, ...], exit_code: int, reason: str,
) -> None:  # fmt: skip
    """A part that cannot be read, another plan than was read, a dry run, a fault, and a missing option leave all as it is."""
    state.groups["g"] = FakeGroup(coordinator_id=1)
    address = f"127.0.0.1:{next(iter(brokers.values())).server_address[1]}"
    file = tmp_path / "x.toml"
    file.write_text(f'cluster_id = "fake"\n[topics.new]\npartitions = 1\n{text}')
    assert main(["apply", str(file), "-b", address, "--yes", *options]) == exit_code
    assert reason in capsys.readouterr().err
    assert ("new" in state.topics, "g" in state.groups) == (False, True)
    file.write_text(file.read_text().replace("fake", "other"))
    assert main(["apply", str(file), "-b", address, "--yes"]) == 2
    assert "new" not in state.topics


@pytest.mark.usefixtures("brokers")
def test_brokers_that_restart_during_a_run_are_waited_for(state: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have answered, so their address is right; an action without an answer is decided by their state."""
    deadline = Deadline.after(CLOCK, 30_000)

    def carry_out(cluster: Cluster, _: PlanResult) -> int:
        state.faults.append(Fault(METADATA.key, Close(), times=50))
        return len(cluster.refresh((), deadline).brokers)

    monkeypatch.setattr(apply_steps, "plan_state", lambda *_: None)
    kafka = short_timeouts(state, default_api_timeout_ms=30_000)
    assert apply_steps.apply_state(kafka, cast("Any", None), deadline, RequestStats(), carry_out) == 3
