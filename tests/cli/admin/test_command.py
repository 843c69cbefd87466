"""Verbs of `lagoon admin` show their plan, carry it out if confirmed, and print the outcome of each action."""

import json
import re
import sys
from dataclasses import replace
from types import ModuleType

import pytest

from kafka_lagoon.apply import outcomes
from kafka_lagoon.apply.action import Answered, Guard, Plan
from kafka_lagoon.apply.execution import Execution
from kafka_lagoon.apply.kinds.registry import KINDS
from kafka_lagoon.apply.outcomes import ActionResult, Outcome
from kafka_lagoon.cli import alterations
from kafka_lagoon.cli.admin.command import altering
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.cli.main import main
from kafka_lagoon.cli.planned_actions import PlannedActions
from kafka_lagoon.cli.registry import ALIASES, COMMANDS, Listed, usage
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataBroker, MetadataResponse
from kafka_lagoon.secret import Secret
from tests.apply.kinds_in_memory import Things, action, failure
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault

Output = pytest.CaptureFixture[str]


def declare(monkeypatch: pytest.MonkeyPatch, verb: Command[ClusterContext]) -> None:
    """Register this verb as `lagoon admin set`."""
    module = ModuleType("kafka_lagoon.cli.here")
    monkeypatch.setattr(module, "COMMAND", verb, raising=False)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(COMMANDS, "admin set", Listed("here", "sets things"))  # type: ignore[index]  # it is a dictionary


@pytest.fixture
def things(monkeypatch: pytest.MonkeyPatch) -> Things:
    """Make a verb `set NAME ...`, which puts things, and drops those whose name begins with a minus."""
    made = Things(live={"old": {"value": 0}, "older": {"value": 0}})
    for name, kind in made.kinds().items():
        monkeypatch.setitem(KINDS, name, kind)  # type: ignore[index]  # the mapping is a dictionary

    def plan(context: ClusterContext) -> PlannedActions:
        names: list[str] = context.options.names
        dropped = [action(name[1:], "drop", None, {"value": 0}, Guard.DELETIONS) for name in names if name[0] == "~"]
        put = [action(name) for name in names if name[0] not in "~?"]
        unread = [failure("DENIED") for name in names if name[0] == "?"]
        return PlannedActions(actions=[*dropped, *put], failures=unread, notes=["a note"])

    verb = Command(
        kind=altering(Guard.DELETIONS),
        summary="Sets things.",
        declare=lambda parser: parser.add_argument("names", nargs="*"),
        answer=plan,
        check=lambda options: [] if options.names else ["name something"],
    )
    declare(monkeypatch, verb)
    return made


@pytest.fixture
def server(brokers: dict[int, FakeBroker]) -> str:
    """Return the address of the cluster."""
    broker = next(iter(brokers.values()))
    return f"--bootstrap-servers=127.0.0.1:{broker.server_address[1]}"


DESCRIBING = {name.removeprefix("admin "): words for name, words in ALIASES.items() if name.startswith("admin ")}


@pytest.mark.parametrize("name", sorted(DESCRIBING))
def test_a_describing_verb_is_one_of_lagoon_kafka(name: str, server: str, capsys: Output) -> None:
    """It prints the same rows, with the same exit code, under the name of Kafka's API; the help lists it."""
    same = main([*DESCRIBING[name].split(), server, "--json"]), capsys.readouterr().out
    assert (main(["admin", name, server, "--json"]), capsys.readouterr().out) == same
    assert name in usage("admin")


def test_actions_are_shown_and_carried_out(things: Things, server: str, capsys: Output) -> None:
    """The output has the plan, a line for each action, and the counts."""
    assert main(["admin", "set", "a", "~old", server, "--yes", "--allow-deletions"]) == 0
    shown = capsys.readouterr()
    assert things.sent == [("put", "a"), ("drop", "old")]
    assert "put a: done" in shown.out
    assert "2 done" in shown.out.splitlines()[-1]
    assert "a note" in shown.err
    assert "nothing is recorded" in shown.err


def test_without_a_terminal_nobody_says_yes(things: Things, server: str, capsys: Output) -> None:
    """Exit 2 before the first request to the cluster; faults of the arguments are listed together."""
    assert main(["admin", "set", server]) == 2
    assert things.sent == []
    error = capsys.readouterr().err
    assert "name something" in error
    assert "give --yes" in error
    assert main(["admin", "set", "a", server, "--json"]) == 2


@pytest.mark.parametrize(("answer", "exit_code"), [("yes", 0), ("y", 1), ("", 1)])
def test_a_terminal_is_asked(
    things: Things, server: str, monkeypatch: pytest.MonkeyPatch, answer: str, exit_code: int
) -> None:
    """Only the whole word yes confirms."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda: answer)
    assert main(["admin", "set", "a", server]) == exit_code
    assert things.sent == ([("put", "a")] if answer == "yes" else [])


def test_what_is_known_before_the_question(
    things: Things, server: str, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    """The plan with its id, what brokers refuse of it, and that nothing is recorded; a plan that is not allowed is not seen about."""
    seen: list[tuple[str, str]] = []

    def no() -> str:
        shown = capsys.readouterr()
        seen.append((shown.out, shown.err))
        return "no"

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", no)
    things.invalid = {"b": failure("INVALID_CONFIG")}
    assert main(["admin", "set", "a", "b", server]) == 1
    ((out, err),) = seen
    assert re.search(r"^plan [0-9a-f]{16} for cluster fake: 2 to add", out, re.MULTILINE)
    assert "put b: SomeApi: INVALID_CONFIG" in err
    assert "nothing is recorded" in err
    assert "nothing was sent" in capsys.readouterr().err
    assert main(["admin", "set", "a", "~old", server]) == 2
    assert len(seen) == 1
    assert things.sent == []


def test_the_line_of_an_outcome(things: Things, server: str, capsys: Output) -> None:
    """It has the broker and the reason, in brackets if the action was carried out in spite of it."""
    lost = failure("CONNECTION_LOST", may_be_done=True)
    things.answers = {"a": lost, "b": replace(failure("DENIED", code=29), node_id=3, message="not yours")}
    things.undone = {"b"}
    assert main(["admin", "set", "a", "b", server, "--yes"]) == 3
    shown = capsys.readouterr()
    done = "put a: done (SomeApi: CONNECTION_LOST (CONNECTION_LOST, but its state shows that it was carried out))"
    assert done in shown.out.splitlines()
    assert "put b: failed: SomeApi of broker 3: DENIED (not yours)" in shown.err


def test_a_missing_guard_is_named(things: Things, server: str, capsys: Output) -> None:
    """Exit 2, every action that needs the guard is named, and nothing is sent; a dry run names the guard and is no failure."""
    assert main(["admin", "set", "a", "~old", "~older", server, "--yes"]) == 2
    error = capsys.readouterr().err
    assert "drop old needs --allow-deletions" in error
    assert "drop older needs --allow-deletions" in error
    assert main(["admin", "set", "a", "~old", server, "--dry-run"]) == 0
    assert "--allow-deletions" in capsys.readouterr().out
    assert things.sent == []


def test_a_dry_run_validates(things: Things, server: str, capsys: Output) -> None:
    """Exit 3 for actions that brokers would refuse, which are named."""
    things.invalid = {"a": failure("INVALID_CONFIG")}
    assert main(["admin", "set", "a", "b", server, "--dry-run"]) == 3
    assert "INVALID_CONFIG" in capsys.readouterr().err
    assert things.sent == []


@pytest.mark.usefixtures("things")
@pytest.mark.parametrize(("names", "exit_code"), [("b", 0), ("b ?c", 3), ("?c", 1)])
def test_a_dry_run_counts_what_could_not_be_planned(server: str, names: str, exit_code: int, capsys: Output) -> None:
    """The exit code is that of the run: 3 if only some of the named resources have actions, 1 if none of them."""
    assert main(["admin", "set", *names.split(), server, "--dry-run"]) == exit_code
    assert ("DENIED" in capsys.readouterr().err) == ("?c" in names)


def test_an_answer_with_a_faulty_item(things: Things, state: FakeCluster, server: str, capsys: Output) -> None:
    """A part of the answers that plans are made from was left out, so the exit code is 3, as of verbs that only read."""

    def with_odd_broker(answer: MetadataResponse) -> MetadataResponse:
        return replace(answer, brokers=(*answer.brokers, MetadataBroker(node_id=9, host="bad host", port=9092)))

    state.faults.append(Fault(METADATA.key, Altered(with_odd_broker), times=1_000))
    assert main(["admin", "set", "a", server, "--yes"]) == 3
    assert things.sent == [("put", "a")]
    assert "broker 9: Metadata: " in capsys.readouterr().err


def test_what_changed_since_is_refused(things: Things, server: str, capsys: Output) -> None:
    """Exit 1, with both states."""
    things.live["a"] = {"value": 7}
    assert main(["admin", "set", "a", server, "--yes"]) == 1
    assert 'thing a was absent and is {"value": 7}' in capsys.readouterr().err
    assert things.sent == []


@pytest.mark.parametrize(
    ("names", "exit_code"), [("a b", 3), ("a", 1), ("b", 0), ("b ?c", 3), ("?c", 1), ("lost b", 3), ("lost", 3)]
)
def test_the_exit_code_counts_failures(
    things: Things, server: str, monkeypatch: pytest.MonkeyPatch, names: str, exit_code: int
) -> None:
    """0 if everything is done, 1 if nothing is, 3 if only some of it is or may be."""
    things.answers = {"a": failure("DENIED", code=29), "lost": failure("CONNECTION_LOST", may_be_done=True)}
    things.undone = {"a", "lost"}
    monkeypatch.setattr(outcomes, "DECIDE_MS", 50)
    things.on_read = lambda: things.live.update({"lost": failure("DENIED")}) if things.sent else None
    assert main(["admin", "set", *names.split(), server, "--yes"]) == exit_code


@pytest.mark.usefixtures("things")
def test_what_is_not_recorded_is_not_complete() -> None:
    """All actions are done, but nobody can read in the table that they are."""
    done = ActionResult(action_id="1", action=action("a"), outcome=Outcome.DONE)
    execution = Execution(run_id="r", plan=Plan(cluster="c", cluster_id="i", actions=(done.action,)), results=[done])
    assert [alterations.exit_code(one) for one in (execution, replace(execution, unrecorded="the disk is full"))] == [
        0,
        3,
    ]


def test_nothing_to_do_is_done(server: str, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    """A verb may find that its plan is empty."""
    declare(monkeypatch, Command(kind=altering(), summary="", answer=lambda _: PlannedActions()))
    assert main(["admin", "set", server, "--yes"]) == 0
    assert capsys.readouterr().out == "nothing to do\n"


def test_what_cannot_be_read_is_not_nothing(things: Things, server: str, capsys: Output) -> None:
    """It is not known that the plan is empty, so this is a failure."""
    assert main(["admin", "set", "?c", server, "--yes"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "DENIED" in shown.err
    assert things.sent == []


def test_scripts_get_an_object_an_action(things: Things, server: str, capsys: Output) -> None:
    """Each object has the outcome and the error. The response of the cluster, with secrets, is only printed here."""
    things.answers = {"a": Answered({"id": 7, "hmac": Secret("hunter2")}), "b": failure("DENIED", code=29)}
    assert main(["admin", "set", "a", "b", server, "--yes", "--json"]) == 3
    shown = capsys.readouterr()
    first, second = map(json.loads, shown.out.splitlines())
    assert (first["action"], first["resource_name"], first["outcome"]) == ("put", "a", "done")
    assert first["answer"] == {"id": 7, "hmac": "hunter2"}
    assert (second["outcome"], second["error_code"], second["error_name"]) == ("failed", 29, "DENIED")
    assert {one["kind"] for one in (first, second)} == {"action"}
    assert first["plan_id"] == second["plan_id"]
    assert first["action_id"] != second["action_id"]  # as in table admin_actions
    assert "hunter2" not in shown.err
    assert main(["admin", "set", "c", server, "--dry-run", "--json"]) == 0
    (planned,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert planned.keys() < first.keys()


def test_people_see_the_answer_too(things: Things, server: str, capsys: Output) -> None:
    """Values are printed one per line below the action."""
    things.answers = {"a": Answered({"hmac": Secret("hunter2")})}
    assert main(["admin", "set", "a", server, "--yes"]) == 0
    assert "  hmac  hunter2" in capsys.readouterr().out.splitlines()


def test_help_and_unknown_verbs(things: Things, capsys: Output) -> None:
    """The help lists the verbs; an unknown verb is one line."""
    assert main(["admin", "--help"]) == 0
    assert re.search(r"  set +sets things", capsys.readouterr().out)
    assert main(["admin", "sett"]) == 2
    assert "did you mean set?" in capsys.readouterr().err
    assert main(["admin"]) == 2
    with pytest.raises(SystemExit):
        main(["admin", "set", "--help"])
    options = capsys.readouterr().out
    assert "--allow-deletions" in options
    assert "--allow-unclean-elections" not in options
    assert things.sent == []


def test_brokers_that_restart_during_a_verb_are_waited_for(
    state: FakeCluster, brokers: dict[int, FakeBroker], monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    """They have answered, so their address is right."""

    def plan(context: ClusterContext) -> PlannedActions:
        state.faults.append(Fault(METADATA.key, Close(), times=50))
        assert len(context.cluster.refresh((), context.deadline).brokers) == 3
        return PlannedActions(actions=[], notes=[])

    declare(monkeypatch, Command(kind=altering(), summary="Sets things.", answer=plan))
    host, port = next(iter(brokers.values())).server_address[:2]
    backoff = ("--set", "kafka.retry_backoff_ms=10", "--set", "kafka.retry_backoff_max_ms=50")
    servers = ("--set", f"kafka.bootstrap_servers={host}:{port}")
    assert main(["admin", "set", *servers, *backoff, "--yes"]) == 0
    assert "nothing to do" in capsys.readouterr().out
