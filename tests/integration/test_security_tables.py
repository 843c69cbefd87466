"""Tables about users and their limits, and configs of brokers, against what Kafka's command-line tools print of a broker with
an authorizer.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import checked
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.tables.cluster_rows import ConfigRow
from kafka_lagoon.tables.security_rows import DelegationTokenRow, QuotaRow, ScramUserRow
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow, Snapshot
from tests.clock import CLOCK
from tests.integration.every_broker import wait_until
from tests.integration.kafka_tools import CONFIGS, in_release
from tests.integration.secured import PASSWORD, USER, Secured
from tests.nulls import unexplained_of

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"
DEFAULT = "<default>"
# Entities as arguments of kafka-configs, and in rows (user, client.id, address).
QUOTAS = {
    (("users", "alice"),): ("alice", None, None),
    (("users", None), ("clients", "app")): (DEFAULT, "app", None),
    (("ips", None),): (None, None, DEFAULT),
}
# Other files use the same broker, which closes connections above its limit without a word: it is higher than tests can connect.
LIMITS = {
    "users": {"producer_byte_rate": 1024.0, "request_percentage": 50.0},
    "ips": {"connection_creation_rate": 70_000.0},
}
_LIMITED = {entity: LIMITS["ips" if entity[0][0] == "ips" else "users"] for entity in QUOTAS}
_ENTRY = re.compile(r"^  ([\w.-]+)=(.*?) sensitive=(true|false) synonyms=\{(.*)\}$", re.MULTILINE)
_SCRAM = re.compile(r"(SCRAM-SHA-\d+)=iterations=(\d+)")


@pytest.fixture(scope="module")
def login(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make properties with which Kafka's tools log in by SCRAM, where tokens are shown."""
    file = tmp_path_factory.mktemp("login") / "client.properties"
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
        f'sasl.jaas.config={module} required username="{USER}" password="{PASSWORD}";\n'
    )
    return file


def tokens_tool(secured: Secured, login: Path, *arguments: str) -> str:
    """Return the output of kafka-delegation-tokens."""
    where = ("--bootstrap-server", secured.settings("scram-256")["bootstrap_servers"])
    return secured.kafka.tool(TOKENS, *where, "--command-config", str(login), *arguments)


def configs_tool(secured: Secured, *arguments: str) -> str:
    """Return the output of kafka-configs."""
    return secured.kafka.tool(
        in_release(CONFIGS, secured.kafka.version), "--bootstrap-server", secured.kafka.bootstrap_servers, *arguments
    )


@pytest.fixture(scope="module")
def token(secured: Secured, login: Path) -> Iterator[list[str]]:
    """Make a token with kafka-delegation-tokens; return its output. It expires with the tests."""
    made = tokens_tool(secured, login, "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:carol")
    (line,) = (line.split() for line in made.splitlines() if f"User:{USER}" in line)
    yield line
    tokens_tool(secured, login, "--expire", "--expiry-time-period", "-1", "--hmac", line[1])


def snapshot_by(settings: dict[str, str]) -> Snapshot:
    deadline = Deadline.after(CLOCK, 60_000)
    with Cluster.connect(checked(settings), CLOCK, RequestStats(), deadline) as cluster:
        return collect(cluster, "test", CLOCK.now_ms(), deadline, lambda _name, _items: None)


@pytest.fixture(scope="module")
def snapshot(secured: Secured, token: list[str]) -> Snapshot:
    """A super user's snapshot, with quotas of every kind of entity."""
    assert token
    for entity, limits in _LIMITED.items():
        named = [word for kind, name in entity for word in _entity(kind, name)]
        settings = ",".join(f"{key}={value}" for key, value in limits.items())
        configs_tool(secured, "--alter", *named, "--add-config", settings)
    servers, limits = {"bootstrap_servers": secured.kafka.bootstrap_servers}, sum(map(len, _LIMITED.values()))
    wait_until(lambda: len(snapshot_by(servers).of(QuotaRow)) >= limits, "brokers have not learnt the quotas")
    return snapshot_by(servers)


def _entity(kind: str, name: str | None) -> list[str]:
    return ["--entity-type", kind, *(["--entity-default"] if name is None else ["--entity-name", name])]


def test_nothing_failed_and_no_null_is_without_a_reason(snapshot: Snapshot) -> None:
    """A super user sees everything; a plain listener does not show tokens, which is no failure."""
    assert not snapshot.of(CollectionFailureRow)
    assert unexplained_of(snapshot) == []
    reasons = {row.api: row.not_collected_because for row in snapshot.of(CoverageRow) if row.not_collected_because}
    assert reasons == {"DescribeDelegationToken": "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"}


def test_quotas_and_scram_users_equal_kafka_configs(secured: Secured, snapshot: Snapshot) -> None:
    """Every entity with each of its limits, and every user with each mechanism."""
    wanted = {(*entity, name, value) for asked, entity in QUOTAS.items() for name, value in _LIMITED[asked].items()}
    rows = {(row.user, row.client_id, row.ip, row.name, row.value) for row in snapshot.of(QuotaRow)}
    assert rows == wanted
    users = configs_tool(secured, "--describe", "--entity-type", "users")
    lines = [line for line in users.splitlines() if line.startswith("Quota configs for user-principal 'alice'")]
    assert [_limits(line) for line in lines] == [LIMITS["users"]]
    scram = {
        (line.split("'")[1], mechanism, int(iterations))
        for line in users.splitlines()
        if line.startswith("SCRAM credential configs for user-principal")
        for mechanism, iterations in _SCRAM.findall(line)
    }
    assert scram == {(row.user, row.mechanism, row.iterations) for row in snapshot.of(ScramUserRow)}
    assert scram


def _limits(line: str) -> dict[str, float]:
    return {key: float(value) for key, value in re.findall(r"(\w+)=([\d.]+)", line)}


def test_configs_of_a_broker_equal_kafka_configs(secured: Secured, snapshot: Snapshot) -> None:
    """Every config is equal, with its value and sources; values of sensitive configs are missing."""
    printed = configs_tool(secured, "--describe", "--all", "--entity-type", "brokers", "--entity-name", "1")
    rows = [row for row in snapshot.of(ConfigRow) if (row.resource_type, row.resource_name) == ("broker", "1")]
    ours = {
        row.name: (
            str(row.value).lower() if row.value in (None, "true", "false") else row.value,
            str(row.is_sensitive).lower(),
            [one.source for one in row.synonyms],
        )
        for row in rows
    }
    theirs = {
        name: (
            value if value not in ("null", "true", "false") else value.replace("null", "none"),
            sensitive,
            re.findall(r"([A-Z_]+_CONFIG):", synonyms),
        )
        for name, value, sensitive, synonyms in _ENTRY.findall(printed)
    }
    assert theirs
    assert ours == theirs
    secrets = {row.name for row in rows if row.is_sensitive}
    assert {"ssl.keystore.password", "delegation.token.secret.key"} <= secrets
    assert not any(row.value or any(one.value for one in row.synonyms) for row in rows if row.is_sensitive)
    assert {row.config_type for row in rows if row.name == "ssl.keystore.password"} == {"PASSWORD"}


def test_tokens_equal_kafka_delegation_tokens(secured: Secured, login: Path, token: list[str]) -> None:
    """Owner, requester, renewers and times of each token are equal, and its secret is nowhere in the snapshot."""
    snapshot = snapshot_by(secured.settings("scram-256"))
    described = tokens_tool(secured, login, "--describe", "--owner-principal", f"User:{USER}")
    printed = [line.split() for line in described.splitlines() if token[1] in line]
    rows = [
        [row.token_id, row.owner, row.requester, f"[{', '.join(row.renewers)}]", *map(_minute, _times(row))]
        for row in snapshot.of(DelegationTokenRow)
        if row.token_id == token[0]  # other tests may have left an expired one
    ]
    assert rows == [[one for one in line if one != token[1]] for line in printed]
    assert len(rows) == 1
    assert token[1] not in repr(snapshot.rows)
    trusted = {row.api: row.visibility for row in snapshot.of(CoverageRow)}
    assert trusted["DescribeDelegationToken"] == "unknown"


def _times(row: DelegationTokenRow) -> tuple[int, int, int]:
    return row.issued_at_ms, row.expires_at_ms, row.max_lifetime_at_ms


def _minute(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000).strftime("%Y-%m-%dT%H:%M")  # noqa: DTZ006  as the tool prints it
