"""Ids of plans, and actions as text."""

import importlib
import pkgutil
from dataclasses import replace

import pytest

from kafka_lagoon.apply import action as action_module
from kafka_lagoon.apply import kinds
from kafka_lagoon.apply.action import Action, ActionKind, Plan, Resource, plan_id
from kafka_lagoon.apply.kinds.registry import KINDS
from kafka_lagoon.apply.plan import PlanResult
from kafka_lagoon.apply.recording import Run
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.secret import Secret

ACTION = Action(
    kind="alter_configs",
    resource=Resource("topic", "orders"),
    before={"retention.ms": "1000"},
    after={"retention.ms": "2000"},
    source="state.toml:3",
)


def test_equal_plans_have_the_same_id() -> None:
    """The id of a plan depends neither on the user nor on passwords."""
    same = replace(ACTION, source=None, secrets={"password": Secret("x")})
    assert plan_id("cluster", [ACTION]) == plan_id("cluster", [same])


def test_the_id_of_a_plan_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It depends on every action, and two rows, or a line, of each action have it: 10,000 actions took 20 minutes."""
    made = list[object]()
    canonical = action_module._canonical

    def counted(value: object) -> str:
        made.append(value)
        return canonical(value)

    monkeypatch.setattr(action_module, "_canonical", counted)
    plan = Plan(cluster="c", cluster_id="cluster", actions=(ACTION, ACTION))
    run = Run.new("apply", KafkaSettings(bootstrap_servers="localhost:9092"), 1)
    rows = [run.started(plan, action, "id", 1) for action in plan.actions]
    assert {row.plan_id for row in rows} == {plan.id}
    assert len(made) == 1
    result = PlanResult(cluster_id="cluster", actions=plan.actions, notes=(), failures=())
    assert result.plan_id == result.plan_id == plan.id
    assert len(made) == 2


def test_other_plans_have_other_ids() -> None:
    """Another cluster, another state before or after, or another order gives another id."""
    other = replace(ACTION, resource=Resource("topic", "payments"))
    plans = [
        plan_id("cluster", [ACTION]),
        plan_id("other", [ACTION]),
        plan_id("cluster", [replace(ACTION, before={"retention.ms": None})]),
        plan_id("cluster", [replace(ACTION, after=None)]),
        plan_id("cluster", [ACTION, other]),
        plan_id("cluster", [other, ACTION]),
        plan_id("cluster", []),
    ]
    assert len(set(plans)) == len(plans)


def test_secrets_are_not_shown() -> None:
    """A printed action does not show its secrets."""
    assert "hunter2" not in repr(replace(ACTION, secrets={"password": Secret("hunter2")}))


def test_kinds_are_listed_by_name() -> None:
    """The list of kinds has each kind under the name that actions use."""
    assert all(kind.name == name for name, kind in KINDS.items())


def test_every_declared_kind_is_listed() -> None:
    """Actions of a kind that is not in the list could be planned, and not be carried out."""
    modules = [
        importlib.import_module(f"{kinds.__name__}.{module.name}") for module in pkgutil.iter_modules(kinds.__path__)
    ]
    declared = [value for module in modules for value in vars(module).values() if isinstance(value, ActionKind)]
    assert sorted(kind.name for kind in declared) == sorted(KINDS), "apply/kinds/registry.py: a kind is missing"
