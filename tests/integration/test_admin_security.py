"""ACLs, quotas, SCRAM users and delegation tokens that `lagoon admin` alters, as Kafka's own tools show them."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from kafka_lagoon.admin.acls import Acl
from kafka_lagoon.cli.main import main
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.errors import AuthenticationFailed
from kafka_lagoon.kafka_settings import checked
from kafka_lagoon.protocol import acls
from tests.clock import CLOCK
from tests.integration import every_broker
from tests.integration.admin_verbs import admin
from tests.integration.administered import Administered, soon
from tests.integration.every_broker import wait_until
from tests.integration.kafka_tools import CONFIGS
from tests.integration.secured import LIMITED, PASSWORD, add_rules, allow

pytestmark = pytest.mark.timeout(300)
ACLS = "org.apache.kafka.tools.AclCommand"
TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"
NEW_PASSWORD = "Zt9-never-to-be-seen-2208"  # noqa: S105  of a user that lives for a minute
_WRITTEN = re.compile(
    r"\(principal=(?P<principal>\S+), host=(?P<host>\S+), operation=(?P<operation>\w+), permissionType=(?P<permission>\w+)\)"
)
_RESOURCE = re.compile(r"resourceType=(?P<type>\w+), name=(?P<name>[^,]+), patternType=(?P<pattern>\w+)")


def listed_acls(administered: Administered, principal: str) -> set[tuple[str, ...]]:
    """Return ACLs of a principal by kafka-acls: permission, operation, type, pattern, name, host."""
    listed, resource = set[tuple[str, ...]](), None
    for line in administered.tool(ACLS, "--list").splitlines():
        resource = _RESOURCE.search(line) or resource
        written = _WRITTEN.search(line)
        if resource and written and written["principal"] == principal:
            listed.add(
                (
                    *(written["permission"], written["operation"]),
                    *(resource["type"], resource["pattern"], resource["name"], written["host"]),
                )
            )
    return listed


def wait_for_acls(administered: Administered, principal: str, wanted: set[tuple[str, ...]]) -> None:
    """Wait until every broker knows these ACLs; kafka-acls then prints the same, at any broker."""
    types, patterns = acls.RESOURCE_TYPES, acls.PATTERN_TYPES
    numbers = [
        Acl(
            resource_type=number_of(types, resource_type),
            resource_name=name,
            pattern_type=number_of(patterns, pattern),
            principal=principal,
            host=host,
            operation=number_of(acls.OPERATIONS, operation),
            permission=number_of(acls.PERMISSION_TYPES, permission),
        )
        for permission, operation, resource_type, pattern, name, host in wanted
    ]
    every_broker.knows_acls_of(administered.bootstrap_servers, principal, numbers)
    assert listed_acls(administered, principal) == wanted


def number_of(names: Mapping[int, str], name: str) -> int:
    return next(number for number, known in names.items() if known == name)


@pytest.fixture
def no_acls(administered: Administered) -> Iterator[None]:
    """Delete the ACLs of a test."""
    yield
    everything = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    every_broker.delete_acls(administered.bootstrap_servers, everything)


@pytest.mark.usefixtures("no_acls")
def test_acls_equal_kafka_acls(administered: Administered, capsys: pytest.CaptureFixture[str]) -> None:
    """An ACL is created for each operation, resource and host; existing ACLs are left; a filter deletes."""
    create = ("create-acl", "--principal", "User:alice", "--resource-type", "topic")
    ran = admin(administered, capsys, *create, "--operation", "read,describe", "--resource-name", "acl-orders")
    assert (ran.exit_code, set(ran.outcomes().values())) == (0, {"done"})
    deadline = soon()
    while admin(administered, capsys, *create, "--operation", "read", "--resource-name", "acl-orders").actions:
        assert deadline.pause(0.1)  # existing ACLs are not created again, once the broker knows them
    prefixed = ("--operation", "all", "--resource-name", "acl-", "--pattern-type", "prefixed", "--host", "10.0.0.1")
    assert admin(administered, capsys, *create, *prefixed, "--permission", "deny").exit_code == 0
    cluster = ("--principal", "User:alice", "--resource-type", "cluster", "--operation", "alter-configs")
    assert admin(administered, capsys, "create-acl", *cluster).exit_code == 0
    wanted = {
        ("ALLOW", "READ", "TOPIC", "LITERAL", "acl-orders", "*"),
        ("ALLOW", "DESCRIBE", "TOPIC", "LITERAL", "acl-orders", "*"),
        ("DENY", "ALL", "TOPIC", "PREFIXED", "acl-", "10.0.0.1"),
        ("ALLOW", "ALTER_CONFIGS", "CLUSTER", "LITERAL", "kafka-cluster", "*"),
    }
    wait_for_acls(administered, "User:alice", wanted)
    refused = admin(administered, capsys, "delete-acl", "--resource-name", "acl-orders")
    assert (refused.exit_code, listed_acls(administered, "User:alice")) == (2, wanted)
    assert "--allow-deletions" in refused.lines
    ran = admin(administered, capsys, "delete-acl", "--resource-name", "acl-orders", "--allow-deletions")
    assert sorted(ran.outcomes()) == [
        "ALLOW User:alice DESCRIBE topic LITERAL acl-orders from *",
        "ALLOW User:alice READ topic LITERAL acl-orders from *",
    ]
    wait_for_acls(administered, "User:alice", {one for one in wanted if one[4] != "acl-orders"})
    while admin(administered, capsys, "delete-acl", "--all", "--allow-deletions").exit_code:
        assert deadline.pause(0.1)  # a broker that still knew the other ACLs made the plan, and another one refused it
    wait_for_acls(administered, "User:alice", set())


@pytest.mark.usefixtures("no_acls")
def test_acls_that_we_may_not_alter(administered: Administered, capsys: pytest.CaptureFixture[str]) -> None:
    """Without permission to alter each ACL is a failure; without permission to describe there is one. Nothing changes."""
    create = ("create-acl", "--principal", "User:bob", "--resource-type", "group", "--operation", "read")
    named = ("--resource-name", "a", "--resource-name", "b")
    assert admin(administered, capsys, *create, *named, user=LIMITED).exit_code == 1
    add_rules(administered.kafka, allow(ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE))
    ran = admin(administered, capsys, *create, *named, user=LIMITED)
    assert (ran.exit_code, list(ran.outcomes().values())) == (1, ["CLUSTER_AUTHORIZATION_FAILED"] * 2)
    assert listed_acls(administered, "User:bob") == set()


def test_quotas_equal_kafka_configs(administered: Administered, capsys: pytest.CaptureFixture[str]) -> None:
    """Quotas of every kind of entity are set, changed and removed; only differences are sent."""
    pair = ("alter-quotas", "--user", "quota user", "--client-id", "<default>")
    ran = admin(administered, capsys, *pair, "producer_byte_rate=1024", "request_percentage=12.5")
    assert ran.outcomes() == {'user="quota user", client-id=<default>': "done"}
    described = ("--describe", "--entity-type", "users", "--entity-name", "quota user")
    defaults = ("--entity-type", "clients", "--entity-default")
    pair_of = (*described, *defaults)
    wait_until(lambda: _limits(administered, *pair_of) == {"producer_byte_rate": 1024.0, "request_percentage": 12.5})
    ran = admin(administered, capsys, *pair, "producer_byte_rate=1024", "--remove", "request_percentage")
    (action,) = ran.actions
    assert (action["before"], action["after"]) == ({"request_percentage": 12.5}, {"request_percentage": None})
    wait_until(lambda: _limits(administered, *pair_of) == {"producer_byte_rate": 1024.0})
    wait_until(lambda: admin(administered, capsys, *pair, "producer_byte_rate=1024").actions == [])
    assert admin(administered, capsys, *pair, "--remove", "producer_byte_rate").exit_code == 0
    wait_until(lambda: _limits(administered, *pair_of) == {})
    address = ("alter-quotas", "--ip", "127.0.0.9")
    assert admin(administered, capsys, *address, "connection_creation_rate=7").exit_code == 0
    of_address = ("--describe", "--entity-type", "ips", "--entity-name", "127.0.0.9")
    wait_until(lambda: _limits(administered, *of_address) == {"connection_creation_rate": 7.0})
    assert admin(administered, capsys, *address, "--remove", "connection_creation_rate").exit_code == 0


def _limits(administered: Administered, *arguments: str) -> dict[str, float]:
    """Return the quotas that kafka-configs prints."""
    printed = administered.tool(CONFIGS, *arguments)
    return {key: float(value) for key, value in re.findall(r"(\w+)=([\d.]+)", printed)}


def test_quotas_that_brokers_refuse(administered: Administered, capsys: pytest.CaptureFixture[str]) -> None:
    """They are validated first, so nothing is sent; the message is the broker's. The same holds for missing permissions."""
    ran = admin(administered, capsys, "alter-quotas", "--user", "q", "no_such_rate=5")
    assert (ran.exit_code, ran.outcomes()) == (1, {"user=q": "INVALID_REQUEST"})
    assert "no_such_rate" in ran.actions[0]["message"]
    assert (
        admin(administered, capsys, "alter-quotas", "--user", "q", "request_percentage=5", user=LIMITED).exit_code == 1
    )
    assert "request_percentage" not in administered.tool(CONFIGS, "--describe", "--entity-type", "users")


@pytest.fixture
def password_file(tmp_path: Path) -> str:
    """Make a reference to the new password."""
    file = tmp_path / "password"
    file.write_text(f"{NEW_PASSWORD}\n")
    return f"file:{file}"


def librdkafka_logs_in(administered: Administered, user: str, mechanism: str, password: str) -> bool:
    """Return True if librdkafka, which has its own SCRAM, can log in."""
    admin_client = AdminClient(
        {
            "bootstrap.servers": administered.kafka.bootstrap("SCRAM"),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": password,
        }
    )
    return bool(admin_client.list_topics(timeout=30).brokers)


def log_in(settings: Mapping[str, str | bool]) -> None:
    """Connect with these settings, by our own client."""
    with Cluster.connect(checked(settings), CLOCK, RequestStats(), soon()) as cluster:
        assert len(cluster.brokers) == 3


def wait_for_login(settings: Mapping[str, str | bool]) -> None:
    """Connect once all brokers know the token."""
    deadline = soon()
    while True:
        try:
            return log_in(settings)
        except AuthenticationFailed:
            assert deadline.pause(0.1)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_user_logs_in_with_the_new_password(
    administered: Administered, capsys: pytest.CaptureFixture[str], password_file: str, mechanism: str
) -> None:
    """librdkafka can log in with a password that we set; kafka-configs shows the iterations; after the deletion login fails."""
    user = f"scram-{mechanism[-3:]}"
    change = ("alter-scram", user, "--mechanism", mechanism, "--password", password_file, "--iterations", "5000")
    ran = admin(administered, capsys, *change)
    assert ran.outcomes() == {f"{user} {mechanism}": "done"}
    described = ("--describe", "--entity-type", "users", "--entity-name", user)
    wait_until(lambda: f"{mechanism}=iterations=5000" in administered.tool(CONFIGS, *described))
    assert librdkafka_logs_in(administered, user, mechanism, NEW_PASSWORD)
    delete = ("delete-scram", user, "--mechanism", mechanism)
    assert admin(administered, capsys, *delete).exit_code == 2
    assert admin(administered, capsys, *delete, "--allow-deletions").exit_code == 0
    wait_until(lambda: mechanism not in administered.tool(CONFIGS, *described))
    with pytest.raises(AuthenticationFailed):
        log_in({**administered.settings(user, NEW_PASSWORD), "sasl_mechanism": mechanism})
    gone = admin(administered, capsys, *delete, "--allow-deletions")
    assert (gone.exit_code, gone.actions) == (1, [])


def test_the_password_is_nowhere(
    administered: Administered,
    capsys: pytest.CaptureFixture[str],
    password_file: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """It is neither printed nor logged nor in table admin_actions, after success, refusal, dry run, or a lost broker.

    Nor is the secret of a token, but for the one time that it is shown to who asked.
    """
    monkeypatch.setenv("NEW_PASSWORD", NEW_PASSWORD)
    lake = ("--set", "create=true", "--warehouse", str(tmp_path / "lake"))
    printed = ""
    for arguments in (
        ("--password", password_file, *lake, *administered.arguments()),
        ("--password", "env:NEW_PASSWORD", *lake, *administered.arguments(LIMITED)),
        ("--password", "env:NEW_PASSWORD", "--dry-run", *administered.arguments()),
        ("--password", password_file, "-b", "127.0.0.1:1"),
        ("--password", NEW_PASSWORD, *administered.arguments()),
    ):
        main(["admin", "alter-scram", "seen-by-nobody", "--yes", *arguments])
        printed += "".join(capsys.readouterr())
    assert "seen-by-nobody" in printed
    created = admin(administered, capsys, "create-token", *lake, user=LIMITED)
    hmac = created.actions[0]["answer"]["hmac"]
    kept = [file.read_bytes() for file in (tmp_path / "lake").rglob("*") if file.is_file()]
    assert any(b"seen-by-nobody" in content for content in kept)
    logs = [administered.kafka.log(node_id).read_bytes() for node_id in (1, 2, 3)]
    for secret in (NEW_PASSWORD, hmac):
        assert secret not in printed + created.lines
        assert not any(secret.encode() in content for content in (*kept, *logs))
    assert (
        main(["admin", "delete-scram", "seen-by-nobody", "--allow-deletions", "--yes", *administered.arguments()]) == 0
    )


def test_arguments_that_are_faulty_are_named_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """All faults are listed before anything is connected."""
    assert (
        main(["admin", "alter-scram", "u", "--iterations", "1", "--password", "env:NOT_SET", "-b", "127.0.0.1:1"]) == 2
    )
    lines = capsys.readouterr().err
    assert "4096 to 16384" in lines
    assert "NOT_SET" in lines
    assert main(["admin", "create-acl", "--resource-type", "planet", "--yes", "-b", "127.0.0.1:1"]) == 2
    lines = capsys.readouterr().err
    assert all(word in lines for word in ("planet", "--principal", "--operation", "--resource-name"))


@pytest.fixture
def login(tmp_path: Path) -> str:
    """Make the properties with which Kafka's tools log in as `limited`."""
    file = tmp_path / "client.properties"
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
        f'sasl.jaas.config={module} required username="{LIMITED}" password="{PASSWORD}";\n'
    )
    return str(file)


def test_tokens_equal_kafka_delegation_tokens(
    administered: Administered, capsys: pytest.CaptureFixture[str], login: str
) -> None:
    """They are created with the secret shown once, used, renewed, and expired; owners need no permission."""
    created = admin(administered, capsys, "create-token", "--renewer", "User:carol", user=LIMITED)
    assert created.exit_code == 0
    answer = created.actions[0]["answer"]
    token_id, hmac = answer["token_id"], answer["hmac"]
    assert (created.actions[0]["after"]["renewers"], hmac in created.lines) == (["User:carol"], False)

    def described() -> list[list[str]]:
        where = ("--bootstrap-server", administered.kafka.bootstrap("SCRAM"), "--command-config", login)
        printed = administered.tools.run(TOKENS, *where, "--describe", "--owner-principal", f"User:{LIMITED}")
        return [line.split() for line in printed.splitlines() if token_id in line]

    deadline = soon()
    while len(lines := described()) != 1:
        assert deadline.pause(0.1)  # brokers learn of a new token a moment later
    first_expiry = lines[0][-2]
    assert lines[0][:3] == [token_id, hmac, f"User:{LIMITED}"]
    by_token = {
        **administered.settings(LIMITED),
        "sasl_username": token_id,
        "sasl_password": hmac,
        "sasl_scram_tokenauth": True,
    }
    wait_for_login(by_token)
    ran = admin(administered, capsys, "renew-token", token_id, "--period-ms", "3600000", user=LIMITED)
    assert ran.outcomes() == {token_id: "done"}
    while described()[0][-2] == first_expiry:
        assert deadline.pause(0.1)
    missing = admin(administered, capsys, "expire-token", "no-such-token", "--allow-deletions", user=LIMITED)
    assert (missing.exit_code, missing.actions) == (1, [])
    ended = admin(administered, capsys, "expire-token", token_id, "--allow-deletions", user=LIMITED)
    assert ended.outcomes() == {token_id: "done"}
    while described():
        assert deadline.pause(0.1)
    assert hmac not in str(ran) + str(ended)
    with pytest.raises(AuthenticationFailed):
        log_in(by_token)


def test_tokens_of_others_need_a_permission(administered: Administered, capsys: pytest.CaptureFixture[str]) -> None:
    """This holds for another owner, and on a listener without authentication."""
    ran = admin(administered, capsys, "create-token", "--owner", "User:carol", user=LIMITED)
    assert (ran.exit_code, list(ran.outcomes().values())) == (1, ["DELEGATION_TOKEN_AUTHORIZATION_FAILED"])
    plain = admin(administered, capsys, "create-token")
    assert list(plain.outcomes().values()) == ["DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"]
