"""Rows have user, action, time and outcome, and no secret."""

import json
import math
from dataclasses import replace

from kafka_lagoon import __version__
from kafka_lagoon.apply.action import Action, Guard, Plan, Resource
from kafka_lagoon.apply.outcomes import ActionResult, Outcome
from kafka_lagoon.apply.recording import NoRecorder, Run, operating_system_user, principal_of
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.secret import Secret
from tests.apply.kinds_in_memory import failure

ACTION = Action(
    kind="alter_scram",
    resource=Resource("scram_user", "alice SCRAM-SHA-256"),
    before=None,
    after={"iterations": 4096},
    guards=frozenset({Guard.DELETIONS}),
    secrets={"password": Secret("hunter2")},
    source="state.toml:3",
)
PLAN = Plan(cluster="prod", cluster_id="id", actions=(ACTION,))
SCRAM = KafkaSettings(
    bootstrap_servers="localhost:9092",
    security_protocol="SASL_PLAINTEXT",
    sasl_mechanism="SCRAM-SHA-256",
    sasl_username="bob",
    sasl_password=Secret("hunter3"),
)


def test_both_rows_of_an_action_agree() -> None:
    """The second row differs from the first only by the outcome."""
    run = Run.new("apply", SCRAM, 1000)
    started = run.started(PLAN, ACTION, "one", 1000)
    result = ActionResult(action_id="one", action=ACTION, outcome=Outcome.FAILED, failure=failure("DENIED", code=29))
    finished = run.finished(PLAN, result, 2000)
    differing = {"event", "at_ms", "outcome", "error_code", "error_name", "message"}
    for name in started.__dataclass_fields__:
        assert (getattr(started, name) == getattr(finished, name)) == (name not in differing or name == "message")
    assert (started.event, finished.event, finished.outcome, finished.error_code) == (
        "started",
        "finished",
        "failed",
        29,
    )
    assert (started.at_ms, started.run_id, started.plan_id) == (1000, run.run_id, PLAN.id)
    assert (started.job, started.cluster, started.cluster_id) == ("apply", "prod", "id")
    assert (started.kind, started.resource_type, started.resource_name) == ("alter_scram", *ACTION.resource)
    assert (started.before, json.loads(started.after or ""), started.guards) == (
        None,
        {"iterations": 4096},
        ("allow-deletions",),
    )
    assert started.source == "state.toml:3"
    assert started.software_version == __version__
    assert "hunter" not in repr((started, finished))


def test_rows_are_json_for_every_reader() -> None:
    """An infinite limit, which brokers accept for quotas, is text: JSON has no such number."""
    endless = replace(ACTION, before={"request_percentage": math.inf}, secrets={})
    started = Run.new("apply", SCRAM, 1000).started(PLAN, endless, "one", 1000)
    assert started.before == '{"request_percentage": "Infinity"}'


def test_who_it_was() -> None:
    """Rows have the user of the operating system, the machine, and the SASL user if there is one."""
    run = Run.new("admin", SCRAM, 1000)
    assert (run.user, run.principal) == (operating_system_user(), "bob")
    assert run.host
    assert principal_of(KafkaSettings(bootstrap_servers="localhost:9092")) is None
    NoRecorder().write([])
