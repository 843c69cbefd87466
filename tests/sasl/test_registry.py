"""A new mechanism is checked through its declaration: it cannot send a secret without TLS by mistake."""

import re
from typing import Any

import pytest

from kafka_lagoon.client.logins import login_for
from kafka_lagoon.client.policy import admit
from kafka_lagoon.errors import AddressRefused
from kafka_lagoon.kafka_settings import NAMES, KafkaSettings, checked
from kafka_lagoon.sasl.peer import Peer
from kafka_lagoon.sasl.plain import Plain
from kafka_lagoon.sasl.registry import LOGINS
from kafka_lagoon.sasl_mechanisms import MECHANISMS, Mechanism
from tests.clock import CLOCK
from tests.documents import page


def _login(peer: Peer) -> Plain:
    return Plain(username=peer.host, password=peer.settings.sasl_username or "")


@pytest.fixture(params=[True, False])
def added(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Mechanism:
    """A mechanism that is declared and has a login, and that either sends a secret or does not."""
    mechanism = Mechanism(
        name="ADDED",
        sends_secret=request.param,
        needs=("sasl_username", "sasl_kerberos_keytab"),
        needs_one_of=("sasl_oauthbearer_token", "sasl_oauthbearer_scope"),
        needs_with={"sasl_oauthbearer_scope": ("sasl_oauthbearer_client_id",)},
        local_only=("sasl_oauthbearer_scope",),
    )
    monkeypatch.setitem(MECHANISMS, mechanism.name, mechanism)  # type: ignore[arg-type]
    monkeypatch.setitem(LOGINS, mechanism.name, _login)  # type: ignore[arg-type]
    return mechanism


def settings(**given: Any) -> KafkaSettings:
    """Settings of a remote cluster that authenticates with the added mechanism."""
    return checked(
        {
            "bootstrap_servers": "a.example:9092",
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "ADDED",
            "sasl_username": "alice",
            "sasl_kerberos_keytab": "/keys",
            "sasl_oauthbearer_token": "abc",
            **given,
        }
    )


def test_a_declaration_says_whether_a_secret_is_sent() -> None:
    """A mechanism cannot be declared without it, because it has no default."""
    with pytest.raises(TypeError, match="sends_secret"):
        Mechanism(name="ADDED")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "without_proof", [{"security_protocol": "SASL_PLAINTEXT"}, {"ssl_endpoint_identification_algorithm": ""}]
)
def test_secrets_are_refused_without_tls(added: Mechanism, without_proof: dict[str, str]) -> None:
    """Settings refuse it, and so does the policy for advertised addresses; a mechanism without a secret is allowed."""
    if added.sends_secret:
        with pytest.raises(ValueError, match=r"ADDED.*allow_plaintext_credentials"):
            settings(**without_proof)
    allowed = settings(**without_proof, allow_plaintext_credentials=True)
    assert allowed.shows_secrets() == added.sends_secret
    if added.sends_secret:
        with pytest.raises(AddressRefused, match="ADDED would show it our credentials"):
            admit(allowed, "b.example", 9092)
    else:
        admit(allowed, "b.example", 9092)


def test_declared_settings_are_asked_for(added: Mechanism) -> None:
    """Settings that are missing, or that exclude each other or the cluster, are listed at once."""
    with pytest.raises(
        ValueError,
        match=f"sasl_mechanism {added.name} needs sasl_username; sasl_mechanism {added.name} needs sasl_kerberos_keytab; "
        f"{added.name} needs one of sasl_oauthbearer_token, sasl_oauthbearer_scope, and has none ",
    ):
        settings(sasl_username="", sasl_kerberos_keytab=None, sasl_oauthbearer_token=None)
    with pytest.raises(
        ValueError,
        match=r"and has sasl_oauthbearer_token and sasl_oauthbearer_scope; sasl_oauthbearer_scope needs "
        r"sasl_oauthbearer_client_id; sasl_oauthbearer_scope is for brokers on this machine only ",
    ):
        settings(sasl_oauthbearer_scope="all")


def test_the_login_is_the_mechanisms(added: Mechanism) -> None:
    """A connection authenticates with the login that the registry lists."""
    assert added.name == "ADDED"
    assert login_for(settings(), "b.example", CLOCK) == Plain(username="b.example", password="alice")  # noqa: S106


def test_unknown_mechanisms(added: Mechanism) -> None:
    """The error lists every declared mechanism, the added one too."""
    for unknown in ("PLAIM", ["PLAIN"]):
        with pytest.raises(ValueError, match=rf"must be PLAIN, SCRAM-SHA-256, .* or {added.name}"):
            settings(sasl_mechanism=unknown)


def test_every_declared_mechanism_has_a_login() -> None:
    """The registry lists a login of each, and the settings that are declared exist."""
    assert list(LOGINS) == list(MECHANISMS), "LOGINS of sasl/registry.py: a login for each mechanism, in the same order"
    for mechanism in MECHANISMS.values():
        beside = [name for setting, others in mechanism.needs_with.items() for name in (setting, *others)]
        declared = {*mechanism.needs, *mechanism.needs_one_of, *beside, *mechanism.local_only}
        assert declared <= NAMES, mechanism.name
        assert re.search(rf"\b{mechanism.name.partition('-')[0]}\b", page("security")), (
            f"docs/security.md: {mechanism.name}"
        )
