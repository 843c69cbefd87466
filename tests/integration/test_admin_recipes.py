"""The commands in docs/administration.md run unchanged on a real cluster, one after the other."""

import re
import shlex
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kafka_lagoon.cli.main import main
from kafka_lagoon.cli.registry import names_of
from kafka_lagoon.delta import sessionless
from kafka_lagoon.delta.plain_jvm import plain_kernel
from kafka_lagoon.query import duckdb_engine
from tests.documents import blocks, page
from tests.integration import every_broker
from tests.integration.administered import Administered

COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for block in blocks(page("administration"))
    for line in block.splitlines()
    if line.startswith(("lagoon admin", "lagoon kafka"))
]


def carried_out(administered: Administered, command: list[str]) -> int:
    """Return the exit code of a command that each broker answers alike; retry while a removed controller does not follow."""
    every_broker.have_applied_changes(administered.bootstrap_servers)
    words = [*command, "--yes"] if command[0] == "admin" else command
    for _ in range(60 if "add-voter" in command or command[0] == "kafka" else 1):
        exit_code = main(words)
        if not exit_code:
            break
        time.sleep(0.5)
    return exit_code


def produce(administered: Administered) -> None:
    """Produce records, which a command deletes."""
    producer = Producer({"bootstrap.servers": administered.bootstrap_servers})
    for partition in (0, 1, 0, 1):
        producer.produce("orders", b"value", partition=partition)
    assert producer.flush(30) == 0


def here(administered: Administered, command: list[str]) -> list[str]:
    """Return the command with the directories and controllers of this cluster."""
    (first, second) = administered.kafka.data_folders(1)
    properties = Path(administered.kafka.data_folders(3)[0]).parent.joinpath("server.properties").read_text()
    (controller,) = re.findall(r"CONTROLLER://127\.0\.0\.1:\d+", properties)
    other = second if (Path(first) / "placed-0").exists() else first
    changed = {"/data/kafka-2": str(other), "CONTROLLER://kafka-3:9093": controller}
    return [changed.get(word, word) for word in command]


def test_every_recipe_runs(
    administered: Administered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each ends with exit code 0, and its alterations are recorded as done."""
    monkeypatch.setenv("LAGOON_KAFKA__BOOTSTRAP_SERVERS", administered.bootstrap_servers)
    monkeypatch.setenv("LAGOON_WAREHOUSE", str(tmp_path / "lake"))
    monkeypatch.setenv("LAGOON_CREATE", "true")
    with plain_kernel(str(tmp_path)) as kernel:  # one for all commands
        monkeypatch.setattr(sessionless, "plain_kernel", lambda _warehouse, _starting=None: nullcontext(kernel))
        for command in COMMANDS:
            if "delete-records" in command:
                produce(administered)
            assert carried_out(administered, here(administered, command)) == 0, (command, capsys.readouterr().err)
        put_back = ["admin", "alter-configs", "broker", "<default>", "--unset", "log.cleaner.threads", "--yes"]
        assert main(put_back) == 0
    printed = capsys.readouterr()
    assert "nothing is recorded" not in printed.err
    with duckdb_engine.opened(tmp_path / "lake", {"admin_outcomes"}) as ask:
        result = ask("SELECT kind, outcome, count(*) AS n FROM admin_outcomes GROUP BY ALL")
        rows = [tuple(row.values()) for batch in result.batches for row in batch.to_pylist()]
    assert {outcome for _, outcome, _ in rows} == {"done"}
    altered = {"create_topic", "create_partitions", "alter_configs", "delete_records", "create_acl", "delete_acl"}
    altered |= {"reassign_partition", "move_replica", "remove_voter", "add_voter", "alter_offsets", "delete_group"}
    assert altered <= {kind for kind, _, _ in rows}


def test_every_verb_is_on_the_page() -> None:
    """Every verb is in a command or named on the page."""
    missing = [
        verb
        for verb in names_of("admin")
        if not re.search(rf"\blagoon admin {verb}\b|`{verb}`", page("administration"))
    ]
    assert not missing
