"""The DAG file is checked without Airflow: its jobs and settings exist."""

import ast
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_lagoon.settings_sources import load
from tests.installed import CLONE

TREE = ast.parse((CLONE / "conf" / "airflow" / "lagoon_dag.py").read_text("utf-8"))


def calls(name: str) -> list[dict[str | None, ast.expr]]:
    """Return the keyword arguments of each call of a function."""
    nodes = [node for node in ast.walk(TREE) if isinstance(node, ast.Call) and ast.unparse(node.func) == name]
    return [{word.arg: word.value for word in call.keywords} for call in nodes]


def function(name: str) -> Callable[..., Any]:
    """Return a function of the file, which uses nothing of Airflow but its types."""
    (definition,) = (node for node in TREE.body if isinstance(node, ast.FunctionDef) and node.name == name)
    namespace: dict[str, Any] = {"json": json, "Connection": object}
    exec(compile(ast.Module([definition], []), name, "exec"), namespace)  # noqa: S102  our own recipe
    made: Callable[..., Any] = namespace[name]
    return made


def test_each_dag_runs_a_job_that_there_is() -> None:
    """Each job exists and runs one at a time, without catching up; jobs about a point in time have a slot."""
    (common,) = (node.value for node in TREE.body if isinstance(node, ast.AnnAssign) and node.target.id == "COMMON")
    values = {ast.literal_eval(key): ast.unparse(value) for key, value in zip(common.keys, common.values, strict=True)}
    assert (values["catchup"], values["max_active_runs"]) == ("False", "1")
    assert all(ast.unparse(one[None]) == "COMMON" for one in calls("DAG"))
    jobs = {ast.literal_eval(one["job"]): one for one in calls("LagoonOperator")}
    assert len(jobs) == len(calls("DAG"))
    assert all((CLONE / "jobs" / f"{job}.py").is_file() for job in jobs)
    arguments = {job: ast.unparse(words["arguments"]) for job, words in jobs.items() if "arguments" in words}
    assert [job for job, words in arguments.items() if "SLOT" in words] == ["snapshot", "report"]


def test_a_connection_becomes_settings() -> None:
    """Host, port, login, password and Extra become settings, by Kafka's names or ours; each cluster keeps its name."""
    extra = {"security.protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512", "request_timeout_ms": 7000}
    connection = SimpleNamespace(host="a", port=9093, login="lagoon", password="p%$ \"'", extra_dejson=extra)  # noqa: S106
    variables = function("kafka_settings")("clusters.prod", connection)
    ((name, settings),) = load(None, {"LAGOON_WAREHOUSE": "/w", **variables}).named_clusters().items()
    assert (name, settings.bootstrap_servers, settings.security_protocol) == ("prod", "a:9093", "SASL_SSL")
    assert (settings.sasl_username, settings.request_timeout_ms) == ("lagoon", 7000)
    assert settings.sasl_password.reveal() == "p%$ \"'"


def test_extra_wins() -> None:
    """Bootstrap servers of Extra replace the host; settings that a connection lacks are not set."""
    servers = {"bootstrap.servers": "b:1,c:2"}
    connection = SimpleNamespace(host="a", port=None, login=None, password=None, extra_dejson=servers)
    assert function("kafka_settings")("kafka", connection) == {"LAGOON_KAFKA__BOOTSTRAP_SERVERS": "b:1,c:2"}


def test_why_an_installation_does_not_answer_is_in_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The exception of a command that failed has its exit code alone, so what it said has to reach the log of the task."""
    command = tmp_path / "bin" / "lagoon"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\necho 'lagoon: why' >&2\nexit 2\n")
    command.chmod(0o755)
    (operator,) = (node for node in TREE.body if isinstance(node, ast.ClassDef))
    (definition,) = (node for node in operator.body if isinstance(node, ast.FunctionDef) and node.name == "_path")
    namespace: dict[str, Any] = {"subprocess": subprocess}
    exec(compile(ast.Module([definition], []), "_path", "exec"), namespace)  # noqa: S102  our own recipe
    with pytest.raises(subprocess.CalledProcessError):
        namespace["_path"](SimpleNamespace(home=tmp_path), "jobs")
    assert capfd.readouterr().err == "lagoon: why\n"
