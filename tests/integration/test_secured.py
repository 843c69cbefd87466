"""Every security mode of a cluster, with real brokers of three releases: working settings, and messages for faulty ones."""

import json
import re
import shlex
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, AclPermissionType, AdminClient, NewTopic, ResourceType
from cryptography.hazmat.primitives.asymmetric import rsa

from kafka_lagoon.admin.acl_commands import grants
from kafka_lagoon.admin.acls import Acl, AclFilter, acls_of, describe_acls
from kafka_lagoon.admin.offsets import HIGH_WATERMARK, LOG_START, list_offsets
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.cli.main import main
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.doctor.checks import Examination, examine
from kafka_lagoon.doctor.permissions import Needs
from kafka_lagoon.doctor.results import Result
from kafka_lagoon.errors import AuthenticationFailed, PipelineError
from kafka_lagoon.fetch.reader import SplitReader
from kafka_lagoon.fetch.split import ReadOptions, Split
from kafka_lagoon.kafka_settings import checked
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_acls import DescribeAclsResponse
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataRequest
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.snapshot.collectors import COLLECTORS
from kafka_lagoon.tables.cluster_rows import BrokerRow, PartitionOffsetsRow, QuorumStateRow, TopicRow
from kafka_lagoon.tables.group_rows import ConsumerLagRow
from kafka_lagoon.tables.security_rows import DelegationTokenRow
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow, Snapshot, SnapshotRow
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text
from kafka_lagoon.wire.schema import Versions
from tests.clock import CLOCK
from tests.documents import page
from tests.integration.secured import (
    GIVEN_WAY,
    GUEST,
    LIMITED,
    PASSWORD,
    PROVIDED_WAY,
    SESSION_MS,
    SIGNED_WAY,
    WAYS,
    Secured,
    add_rules,
    allow,
)
from tests.integration.state import commit, create_topics, every_shape, produce
from tests.permissions import REQUIRED_PERMISSIONS

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]

RELEASES = ("secured", "secured_392", "secured_282")
SECRET = "Wq7-"  # noqa: S105  what every secret of these brokers begins with
LONGEST_REFUSAL_S = 10.0  # a second or two are pauses between attempts, the rest is for slow machines

Settings = dict[str, str]
Facts = dict[str, list[dict[str, object]]]


@pytest.fixture(scope="module", params=RELEASES)
def broker(request: pytest.FixtureRequest) -> Iterator[Secured]:
    """Each release, with topics and groups of every shape."""
    secured: Secured = request.getfixturevalue(request.param)
    with every_shape(secured.kafka.bootstrap_servers, 1, with_new_protocol=request.param == "secured"):
        yield secured


@pytest.fixture(scope="module")
def plainly(broker: Secured) -> Facts:
    """Return the output of the plain listener for a super user."""
    return facts(snapshot_by({"bootstrap_servers": broker.kafka.bootstrap_servers}))


def soon() -> Deadline:
    return Deadline.after(CLOCK, 60_000)


def connect(settings: Mapping[str, str], request_stats: RequestStats | None = None) -> Cluster:
    return Cluster.connect(checked(settings), CLOCK, request_stats or RequestStats(), soon())


def snapshot_by(settings: Mapping[str, str]) -> Snapshot:
    with connect(settings) as cluster:
        return collect(cluster, "test", CLOCK.now_ms(), soon(), lambda _name, _items: None)


def facts(snapshot: Snapshot) -> Facts:
    """Return the parts of a snapshot that do not depend on user, listener and time."""
    how = {"host", "port", "read_at_ms", "usable_bytes", "duration_ms"}
    # Only listeners with authentication return tokens.
    moving = (CoverageRow, SnapshotRow, QuorumStateRow, DelegationTokenRow)
    kinds = [kind for kind in snapshot.rows if kind not in moving]
    tables = {
        kind.__name__: [
            {name: value for name, value in asdict(row).items() if name not in how}
            for row in snapshot.of(kind)
            if getattr(row, "topic", None) != "__share_group_state"  # brokers write to it themselves
        ]
        for kind in kinds
    }
    seen = {row.api: (row.expected, row.answered, row.failed) for row in snapshot.of(CoverageRow)}
    requested = {api: items for api, items in seen.items() if not api.startswith(("Sasl", "ApiVersions"))}
    published = {"status": snapshot.published.status, "completeness": snapshot.published.completeness}
    return tables | {"coverage": [requested], "snapshot": [published]}


def values_of(cluster: Cluster, topic: str) -> tuple[list[bytes | None], str | None]:
    """Return all values of a topic's partition 0, and the failure of the reader."""
    (described,) = cluster.refresh({topic}, soon()).topics
    partition = TopicPartition(topic, 0)
    ends = list_offsets(cluster, [partition], [LOG_START, HIGH_WATERMARK], soon())
    end = ends[HIGH_WATERMARK].answers[partition].offset
    split = Split(
        topic=topic,
        topic_id=uuid_text(described.topic_id),
        partition=0,
        from_offset=ends[LOG_START].answers[partition].offset,
        to_offset=end,
        stable_end=end,
    )
    reader = SplitReader(cluster, split, ReadOptions())
    values = [value for rows in reader.batches() for value in rows["value"].to_pylist()]
    return values, reader.outcome.failure


@pytest.mark.parametrize("way", WAYS)
def test_every_way_leads_to_the_same_cluster(broker: Secured, plainly: Facts, way: str) -> None:
    """Every listener that librdkafka can use works: the snapshot equals that of the plain listener, and records are read."""
    settings = broker.settings(way)
    admin = AdminClient(broker.peer(way))
    admin.poll(0)  # it gets its token then
    (known,) = admin.list_topics(timeout=30).brokers.values()
    assert f"{known.host}:{known.port}" == settings["bootstrap_servers"]

    snapshot = snapshot_by(settings)
    assert facts(snapshot) == plainly
    (visible,) = {row.visibility for row in snapshot.of(CoverageRow) if row.api == "Metadata"}
    assert visible == ("complete" if checked(settings).principal() else "unknown")  # ACLs prove it for a known name
    assert snapshot.published.status == "complete"
    assert not snapshot.of(CollectionFailureRow)
    (row,) = snapshot.of(BrokerRow)
    assert f"{row.host}:{row.port}" == settings["bootstrap_servers"]
    with connect(settings) as cluster:
        values, failure = values_of(cluster, "single")
    assert failure is None
    assert values == [b"v" * 50] * len(values) != []


@pytest.mark.parametrize(
    ("release", "way"),
    [
        ("secured", SIGNED_WAY),
        ("secured", PROVIDED_WAY),  # not for the other release as well: a function's token is cached for its host
        ("secured", GIVEN_WAY),
        ("secured_392", SIGNED_WAY),
        ("secured_392", GIVEN_WAY),
    ],
)
def test_signed_tokens_lead_in(request: pytest.FixtureRequest, release: str, way: str) -> None:
    """From an endpoint, from a user's function, or from a file: Kafka's own validator accepts them."""
    secured: Secured = request.getfixturevalue(release)
    with connect(secured.settings(way)) as cluster:
        assert list(cluster.brokers) == [1]


# Names of the modes in docs/security.md; Kerberos has a test of its own, with a KDC (tests/oracle/test_kerberos.py).
DOCUMENTED = {
    "TLS": "tls",
    "TLS with a client certificate": "mutual",
    "PLAIN over TLS": "plain-tls",
    "SCRAM over TLS": "scram-tls",
    "SCRAM without TLS": "scram-512",
    "OAUTHBEARER by client credentials": SIGNED_WAY,
    "OAUTHBEARER by a cloud's own library": PROVIDED_WAY,
    "OAUTHBEARER with a token that somebody else renews": GIVEN_WAY,
}


def test_what_the_page_tells_is_what_leads_in(secured: Secured) -> None:
    """The settings in the table of docs/security.md are exactly those of the tests above."""
    table = re.findall(r"^\| ([^|]+) \| (`security_protocol`[^|]+) \|$", page("security"), re.MULTILINE)
    assert dict(table).keys() == {*DOCUMENTED, "GSSAPI (Kerberos)"}
    for name, mode in DOCUMENTED.items():
        documented = dict(re.findall(r"`(\w+)`(?: = ([\w-]+))?", dict(table)[name]))
        used = secured.settings(mode)
        assert documented.keys() | {"bootstrap_servers"} == used.keys(), name
        fixed = ("security_protocol", "sasl_mechanism")
        assert {key: documented.get(key) for key in fixed} == {key: used.get(key) for key in fixed}, name


def without(settings: Settings, part: str) -> Settings:
    return {name: value for name, value in settings.items() if part not in name}


def mode_at(listener: str, way: str) -> Callable[[Secured], Settings]:
    """Return the settings of a mode for another listener; PLAIN has no others."""

    def settings(broker: Secured) -> Settings:
        address = broker.kafka.bootstrap_servers if listener == "PLAIN" else broker.kafka.bootstrap(listener)
        return (broker.settings(way) if way != "plain" else {}) | {"bootstrap_servers": address}

    return settings


def but(way: str, **other: str) -> Callable[[Secured], Settings]:
    """Return the settings of a mode with some changed."""
    return lambda broker: broker.settings(way) | other


def with_certificate(name: str) -> Callable[[Secured], Settings]:
    """Return the settings of client certificates, with another certificate."""
    return lambda broker: (
        without(broker.settings("mutual"), "ssl_key_password") | {"ssl_keystore_location": broker.file(name)}
    )


def trusting(name: str) -> Callable[[Secured], Settings]:
    return lambda broker: broker.settings("mutual") | {"ssl_truststore_location": broker.file(name)}


def verifying(listener: str) -> Callable[[Secured], Settings]:
    return lambda broker: without(mode_at(listener, "mutual")(broker), "ssl_key")


WRONG, WRONG_KEY_PASSWORD = {"sasl_password": "Wq7-wrong"}, {"ssl_key_password": "Wq7-wrong"}
CREDENTIALS = "invalid credentials with SASL mechanism"
NO_SASL, WANTS_SASL = "this listener does not authenticate", "as listeners do that want SASL"
NOT_TLS, TLS = "a listener without TLS does that", "the answer is TLS, not Kafka"
OURS = "certificate"  # releases differ in their refusals of client certificates

FAULTS: dict[str, tuple[Callable[[Secured], Settings], str]] = {
    "wrong password, SCRAM-SHA-256": (but("scram-256", **WRONG), f"{CREDENTIALS} SCRAM-SHA-256"),
    "wrong password, SCRAM-SHA-512": (but("scram-512", **WRONG), f"{CREDENTIALS} SCRAM-SHA-512"),
    "wrong password, PLAIN": (but("plain-tls", **WRONG), "Invalid username or password"),
    "unknown user, SCRAM": (but("scram-tls", sasl_username="nobody"), f"{CREDENTIALS} SCRAM-SHA-512"),
    "unknown user, PLAIN": (but("plain-tls", sasl_username="nobody"), "Invalid username or password"),
    "client's certificate has expired": (with_certificate("lapsed"), "see ssl_keystore_location"),
    "client's certificate is a stranger's": (with_certificate("stranger"), "see ssl_keystore_location"),
    "client has no certificate": (verifying("MUTUAL"), "see ssl_keystore_location"),
    "wrong password of the key": (but("mutual", **WRONG_KEY_PASSWORD), "ssl_key_password: does not open"),
    "server's certificate has expired": (verifying("EXPIRED"), "the certificate of 'broker' expired on "),
    "server's certificate is of another host": (verifying("ELSEWHERE"), "for kafka.example.org, not for localhost"),
    "authority is unknown": (trusting("other-ca"), "signed by 'sandbox CA', which is not trusted"),
    "no authority is given": (lambda broker: without(broker.settings("mutual"), "trust"), "which is not trusted"),
    "mechanism is not offered": (
        but("scram-512", sasl_mechanism="PLAIN", allow_plaintext_credentials="true"),
        "broker offers SCRAM-SHA-512, SCRAM-SHA-256; see sasl_mechanism",
    ),
    "plain at TLS": (mode_at("MUTUAL", "plain"), f"{TLS}; see security_protocol"),
    "plain at SASL": (mode_at("SCRAM", "plain"), f"{WANTS_SASL}; see security_protocol"),
    "plain at SASL with TLS": (mode_at("LOGIN", "plain"), f"{TLS}; see security_protocol"),
    "TLS at plain": (mode_at("PLAIN", "mutual"), f"{NOT_TLS}, see security_protocol"),
    "TLS at SASL": (mode_at("SCRAM", "mutual"), f"{NOT_TLS}, see security_protocol"),
    "TLS at SASL with TLS": (mode_at("LOGIN", "mutual"), f"{WANTS_SASL}; see security_protocol"),
    "SASL at plain": (mode_at("PLAIN", "scram-512"), f"{NO_SASL}; see security_protocol"),
    "SASL at TLS": (mode_at("MUTUAL", "scram-512"), f"{TLS}; see security_protocol"),
    "SASL with TLS at plain": (mode_at("PLAIN", "scram-tls"), f"{NOT_TLS}, see security_protocol"),
    "SASL with TLS at SASL": (mode_at("SCRAM", "scram-tls"), f"{NOT_TLS}, see security_protocol"),
    "SASL with TLS at TLS that wants certificates": (mode_at("MUTUAL", "scram-tls"), "see ssl_keystore_location"),
}


def refusal(settings: Settings, request_stats: RequestStats | None = None) -> PipelineError:
    """Return the reason of a refused connection, which is reported soon and contains no secret."""
    began = time.monotonic()
    with pytest.raises(PipelineError) as caught, connect(settings, request_stats):
        pass
    assert time.monotonic() - began < LONGEST_REFUSAL_S
    assert "\n" not in str(caught.value)
    everything = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert SECRET not in everything
    return caught.value


@pytest.mark.parametrize("fault", FAULTS)
def test_a_way_that_leads_nowhere(broker: Secured, fault: str, caplog: pytest.LogCaptureFixture) -> None:
    """One line names the fault and the setting; refused credentials are not tried again."""
    settings, words = FAULTS[fault]
    request_stats = RequestStats()
    error = refusal(settings(broker), request_stats)
    assert words in str(error)
    tries = requests(request_stats)
    if isinstance(error, AuthenticationFailed):
        assert tries["SaslHandshake"] <= 1, "a user may be locked out after some"
    assert tries["Metadata"] <= 6
    assert SECRET not in caplog.text


@pytest.fixture
def signed(secured: Secured) -> Iterator[Secured]:
    """The newest release, whose tokens the test may invalidate."""
    assert secured.tokens
    lifetime_s, key = secured.tokens.lifetime_s, secured.tokens.key
    yield secured
    secured.tokens.lifetime_s, secured.tokens.key = lifetime_s, key


def test_tokens_that_are_refused(signed: Secured) -> None:
    """The endpoint refuses, a broker finds them expired or forged, or the URL is not allowed."""
    tokens = signed.tokens
    assert tokens
    settings = signed.settings(SIGNED_WAY)
    wrong = refusal(settings | {"sasl_oauthbearer_client_secret": "Wq7-wrong"})
    assert "the token endpoint answered 401: invalid_client, no such client or secret" in str(wrong)
    own = {name: value for name, value in settings.items() if not name.startswith("sasl_oauthbearer")}
    tokens.lifetime_s = -100
    given = tokens.token()
    expired = refusal(own | {"sasl_oauthbearer_token": given})
    tokens.lifetime_s, tokens.key = 600, rsa.generate_private_key(65537, 2048)
    forged = refusal(own | {"sasl_oauthbearer_token": tokens.token()})
    for refused in (expired, forged):
        assert "OAUTHBEARER: the broker refuses the token" in str(refused)
        assert not any(token.rpartition(".")[2] in str(refused) for token in tokens.given)
    unsigned = refusal(own | {"sasl_oauthbearer_unsecured_principal": "lagoon"})
    assert "the broker refuses the token" in str(unsigned)
    elsewhere = refusal(settings | {"sasl_oauthbearer_allowed_urls": "https://tokens.example.org/"})
    assert "is not among sasl_oauthbearer_allowed_urls" in str(elsewhere)


def ask_for(cluster: Cluster, seconds: float) -> int:
    """Send requests for a period, and count their responses."""
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        cluster.brokers[1].ask(METADATA, MetadataRequest(topics=()), soon())
        count += 1
        time.sleep(0.05)
    return count


def test_a_connection_outlives_its_session(broker: Secured) -> None:
    """It lives longer than its session, busy or idle, without an error or another connection (KIP-368)."""
    request_stats = RequestStats()
    with connect(broker.settings("scram-512"), request_stats) as cluster:
        count = ask_for(cluster, SESSION_MS / 1000 + 0.1)
        time.sleep(SESSION_MS / 1000)
        count += ask_for(cluster, 0.1)
    answered = answers(request_stats)
    assert answered["Metadata"] == count + 1
    assert answered["SaslHandshake"] >= 3
    assert answered["SaslAuthenticate"] == 2 * answered["SaslHandshake"]


def test_sessions_of_a_second(secured: Secured) -> None:
    """Brokers refuse a second authentication within a second: no error is shown, though it may cost a connection."""
    with connect(secured.settings("scram-256")) as cluster:
        assert ask_for(cluster, 2.5) > 3


def test_tokens_are_renewed_before_they_expire(signed: Secured) -> None:
    """A connection continues with a new token when the first one ends, and the broker's session with it."""
    assert signed.tokens
    signed.tokens.lifetime_s = 5  # with two seconds a busy machine is late
    not_cached = {"sasl_oauthbearer_scope": "short"}
    request_stats, before = RequestStats(), len(signed.tokens.given)
    with connect(signed.settings(SIGNED_WAY) | not_cached, request_stats) as cluster:
        ask_for(cluster, 6.5)
    assert answers(request_stats)["SaslHandshake"] >= 2
    assert len(signed.tokens.given) - before >= 2


def answers(request_stats: RequestStats) -> Counter[str]:
    """Return the number of the broker's responses on a connection that was never reopened."""
    counts: Counter[str] = Counter()
    for (api, broker), stats in request_stats.by_api.items():
        # Brokers from 4.4 on are asked once whether the bootstrap connection is theirs.
        assert api != "ApiVersions" or broker is None or stats.requests == 1, "a broker was connected to again"
        counts[api] += stats.answers
    return counts


def requests(request_stats: RequestStats) -> Counter[str]:
    """Return the number of requests sent of each API."""
    counts: Counter[str] = Counter()
    for (api, _), stats in request_stats.by_api.items():
        counts[api] += stats.requests
    return counts


def test_permissions_that_are_denied(broker: Secured) -> None:
    """A topic without READ permission has a failure; a hidden topic is absent, and the list not called
    complete; all else is whole.
    """
    servers = broker.kafka.bootstrap_servers
    names = ["open", "unreadable", "unseen"]
    create_topics(servers, [NewTopic(name, 1, 1) for name in names])
    for name in names:
        produce(servers, name, 10)
    commit(servers, "limited-group", {(name, 0): 4 for name in names})
    deny = AclPermissionType.DENY
    add_rules(
        broker.kafka,
        allow(ResourceType.TOPIC, "*", AclOperation.READ),
        allow(ResourceType.TOPIC, "*", AclOperation.DESCRIBE_CONFIGS),
        allow(ResourceType.GROUP, "*", AclOperation.DESCRIBE),
        allow(ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE),
        allow(ResourceType.TOPIC, "unreadable", AclOperation.READ, permission=deny),
        allow(ResourceType.TOPIC, "unreadable", AclOperation.DESCRIBE),
        allow(ResourceType.TOPIC, "unseen", AclOperation.DESCRIBE, permission=deny),
    )
    settings = broker.settings("scram-tls") | {"sasl_username": LIMITED}
    with connect(settings) as cluster:
        assert values_of(cluster, "open") == ([b"v" * 50] * 10, None)
        assert values_of(cluster, "unreadable") == ([], "TOPIC_AUTHORIZATION_FAILED")
        (unseen,) = cluster.refresh({"unseen"}, soon()).topics
        assert unseen.error_code == 29
    snapshot = snapshot_by(settings)
    every = {row.topic for row in snapshot_by({"bootstrap_servers": servers}).of(TopicRow)}
    assert {row.topic for row in snapshot.of(TopicRow)} == every - {"unseen"}
    ends = {row.topic: (row.high_watermark, row.problem) for row in snapshot.of(PartitionOffsetsRow)}
    assert (ends["open"], ends["unreadable"]) == ((10, None), (10, None))
    lag = {row.topic: row.lag for row in snapshot.of(ConsumerLagRow) if row.group_id == "limited-group"}
    assert lag == {"open": 6, "unreadable": 6}
    visibility = {row.api: row.visibility for row in snapshot.of(CoverageRow)}
    assert visibility["Metadata"] != "complete"
    optional = {api.name for table in COLLECTORS if not table.required for api in table.apis}
    assert {row.api for row in snapshot.of(CollectionFailureRow)} <= optional
    assert snapshot.published.status == "complete"


def doctored(settings: Settings, *needs: Needs) -> dict[str, list[Result]]:
    """Return the results of `lagoon doctor` for a cluster, by check; they contain no secret."""
    examination = Examination(
        settings=None, clusters={"test": checked(settings)}, needs=needs, clock=CLOCK, timeout_ms=30_000
    )
    results = list(examine(examination))
    assert SECRET not in str(results)
    return {name: [one for one in results if one.check == name] for name in {one.check for one in results}}


@pytest.mark.parametrize(
    "fault",
    [
        "wrong password, PLAIN",
        "server's certificate has expired",
        "authority is unknown",
        "client's certificate has expired",
        "wrong password of the key",
        "plain at SASL with TLS",
    ],
)
def test_a_doctor_says_why_no_server_answers(broker: Secured, fault: str) -> None:
    """A failed line has the error's message, and no further checks of the cluster are made."""
    settings, words = FAULTS[fault]
    results = doctored(settings(broker))
    failed = [one for some in results.values() for one in some if one.status == "failed"]
    assert any(words in f"{one.observed} {one.to_do}" for one in failed if one.check in {"connection", "certificate"})
    assert "permissions" not in results


def test_a_doctor_of_a_cluster(broker: Secured, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Connections, certificates, the controller's clock, and each permission of a snapshot; also as a command."""
    results = doctored(broker.settings("scram-tls"), SNAPSHOT)
    connections = [one.observed for one in results["connection"]]
    release = broker.kafka.version.rpartition(".")[0]
    assert len(connections) == 2  # the bootstrap server and the broker
    assert all(re.fullmatch(rf"TLSv1\.[23], SASL SCRAM-SHA-512; Kafka {release}", one) for one in connections)
    assert [one.status for one in results["certificate"]] == ["warning"]  # one for all listeners, valid for a week
    assert "'broker' is valid until" in results["certificate"][0].observed
    (clock,) = results["clock"]
    assert (clock.status == "ok") == (release != "2.8"), clock  # the same machine's clock, if the controller returns it
    of_snapshot = {one.subject.rpartition(": ")[2]: one for one in results["permissions"]}
    unknown = {"DESCRIBE on TransactionalId"} if release == "2.8" else set()
    assert {name for name, one in of_snapshot.items() if one.status == "not_checked"} == unknown
    lacking = {name for name, one in of_snapshot.items() if name not in unknown and one.status != "ok"}
    # librdkafka, which makes this user's ACLs, has no such type; the cluster of release 2.8 has no delegation tokens
    assert lacking == (set() if release == "2.8" else {"DESCRIBE on DelegationToken"})
    conf = tmp_path / "lagoon.toml"
    lines = "\n".join(f'{name} = "{value}"' for name, value in broker.settings("scram-tls").items())
    conf.write_text(f'warehouse = "{tmp_path / "lake"}"\n[kafka]\n{lines}\n')
    conf.chmod(0o644)
    assert main(["doctor", "--conf", str(conf), "--json"]) == 3  # the certificates, and a file that others can read
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {one["status"] for one in printed} == {"ok", "warning", "not_checked"}
    assert {"secrets", "certificate"} <= {one["check"] for one in printed if one["status"] == "warning"}
    assert PASSWORD not in str(printed)


def test_a_doctor_names_permissions_that_are_missing(broker: Secured) -> None:
    """By topic and group; a missing permission of an ingest is a failure, an optional one of a snapshot a warning."""
    servers = broker.kafka.bootstrap_servers
    create_topics(servers, [NewTopic("for-doctor", 1, 1), NewTopic("not-for-doctor", 1, 1)])
    add_rules(
        broker.kafka,
        allow(ResourceType.TOPIC, "for-doctor", AclOperation.READ, user=GUEST),
        allow(ResourceType.TOPIC, "not-for-doctor", AclOperation.DESCRIBE, user=GUEST),
    )
    settings = broker.settings("scram-tls") | {"sasl_username": GUEST}
    of_ingest = Needs(command="ingest", permissions=REQUIRED_PERMISSIONS["ingest"].permissions, topics=("for-doctor",))
    (given,) = doctored(settings, of_ingest)["permissions"]
    assert (given.status, given.observed) == ("ok", "allowed on all 1 topics")
    (missing,) = doctored(settings, replace(of_ingest, topics=("for-doctor", "not-for-doctor")))["permissions"]
    command = f"kafka-acls.sh --add --allow-principal User:{GUEST} --operation Read --topic not-for-doctor"
    assert (missing.status, missing.to_do) == ("failed", f"add an ACL for READ on Topic: {command}")
    assert missing.observed.startswith("missing on 1 topics: not-for-doctor;")
    (unseen,) = doctored(settings, replace(of_ingest, topics=("single",)))["permissions"]
    assert "single (TOPIC_AUTHORIZATION_FAILED)" in unseen.observed
    results = {one.subject.rpartition(": ")[2]: one for one in doctored(settings, SNAPSHOT)["permissions"]}
    cluster = results["DESCRIBE on Cluster"]
    assert cluster.status == "warning"
    assert cluster.observed.startswith("not allowed; without it: the controller is unknown; ")
    assert results["DESCRIBE on Group"].status == "not_checked"
    tokens, transactions = results["DESCRIBE on DelegationToken"], results["DESCRIBE on TransactionalId"]
    if broker.kafka.version.startswith("2.8"):
        assert (tokens.status, tokens.observed) == ("ok", "the brokers have no delegation tokens")
        assert transactions.status == "not_checked"
        return
    assert (tokens.status, tokens.observed) == (
        "not_checked",
        "only ACLs tell it, and they cannot be described: CLUSTER_AUTHORIZATION_FAILED",
    )
    assert transactions.status == "warning"
    assert transactions.observed.startswith("not allowed on all transactional ids; without it: ")
    assert f"--allow-principal User:{GUEST} --operation Describe --transactional-id '*'" in str(transactions.to_do)
    (on_ids,) = grants(f"User:{GUEST}", [Permission(acls.DESCRIBE, acls.TRANSACTIONAL_ID, "")])
    tool = "kafka.admin.AclCommand" if broker.kafka.version.startswith("3.") else "org.apache.kafka.tools.AclCommand"
    broker.kafka.tool(tool, "--bootstrap-server", servers, *shlex.split(on_ids.command())[1:])
    deadline = soon()
    while deadline.pause(0.2):  # brokers learn of ACLs a moment later
        results = {one.subject.rpartition(": ")[2]: one for one in doctored(settings, SNAPSHOT)["permissions"]}
        if results["DESCRIBE on TransactionalId"].status == "ok":
            break
    assert results["DESCRIBE on TransactionalId"].status == "ok"


SNAPSHOT = Needs(command="snapshot", permissions=REQUIRED_PERMISSIONS["snapshot"].permissions, goes_without=True)


def test_acls_as_brokers_before_pattern_types_answer(secured_282: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    """DescribeAcls v0, which this release offers, too, returns literal ACLs for every requested pattern type."""
    add_rules(secured_282.kafka, allow(ResourceType.TOPIC, "as-of-v0", AclOperation.READ))
    with connect({"bootstrap_servers": secured_282.kafka.bootstrap_servers}) as cluster:

        def described(pattern_type: int, name: str | None = None) -> set[Acl]:
            answer = describe_acls(cluster, AclFilter(pattern_type=pattern_type, resource_name=name), soon())
            assert isinstance(answer, DescribeAclsResponse)
            return set(acls_of(answer))

        deadline = soon()
        while not (named := described(acls.LITERAL, "as-of-v0")):  # brokers learn of ACLs a moment later
            assert deadline.pause(0.1)
        literal, matching = described(acls.LITERAL), described(acls.MATCH, "as-of-v0")
        monkeypatch.setattr("kafka_lagoon.admin.acls.WITH_PATTERNS", Versions(99, 99))
        assert described(acls.LITERAL) == described(acls.ANY) == literal
        assert described(acls.LITERAL, "as-of-v0") == described(acls.ANY, "as-of-v0") == named
        assert described(acls.MATCH, "as-of-v0") == {acl for acl in matching if acl.pattern_type == acls.LITERAL}
        assert described(acls.PREFIXED) == set()
