"""A new mechanism is checked through its declaration: it cannot send a secret without TLS by mistake."""

import importlib
import pkgutil
from typing import Any

import pytest

from kafka_lagoon import sasl
from kafka_lagoon.client.logins import login_for
from kafka_lagoon.client.policy import admit
from kafka_lagoon.errors import AddressRefused
from kafka_lagoon.kafka_settings import NAMES, KafkaSettings, checked
from kafka_lagoon.sasl.mechanism import Mechanism, Peer
from kafka_lagoon.sasl.plain import Plain
from kafka_lagoon.sasl.registry import MECHANISMS
from tests.clock import CLOCK


def _login(peer: Peer) -> Plain:
    return Plain(username=peer.host, password=peer.settings.sasl_username or "")


@pytest.fixture(params=[True, False])
def added(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Mechanism:
    """Add a mechanism to the registry that sends a secret, or that does not."""
    mechanism = Mechanism(
        name="ADDED",
        login=_login,
        sends_secret=request.param,
        needs=("sasl_username",),
        faults=lambda settings: [] if settings.sasl_kerberos_keytab else ["no keytab"],
    )
    monkeypatch.setitem(MECHANISMS, mechanism.name, mechanism)  # type: ignore[arg-type]
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
            **given,
        }
    )


def test_a_declaration_says_whether_a_secret_is_sent() -> None:
    """A mechanism cannot be declared without it, because it has no default."""
    with pytest.raises(TypeError, match="sends_secret"):
        Mechanism(name="ADDED", login=_login)  # type: ignore[call-arg]


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
    """A missing setting and the mechanism's own faults are listed together."""
    with pytest.raises(ValueError, match=f"sasl_mechanism {added.name} needs sasl_username; no keytab"):
        settings(sasl_username="", sasl_kerberos_keytab=None)


def test_the_login_is_the_mechanisms(added: Mechanism) -> None:
    """A connection authenticates with the login that the mechanism declares."""
    assert added.name == "ADDED"
    assert login_for(settings(), "b.example", CLOCK) == Plain(username="b.example", password="alice")  # noqa: S106


def test_unknown_mechanisms(added: Mechanism) -> None:
    """The error lists every mechanism of the registry, including the added one."""
    for unknown in ("PLAIM", ["PLAIN"]):
        with pytest.raises(ValueError, match=rf"must be PLAIN, SCRAM-SHA-256, .* or {added.name}"):
            settings(sasl_mechanism=unknown)


def test_every_declared_mechanism_is_listed() -> None:
    """The registry has each mechanism that a module of sasl/ declares, and the settings that it needs exist."""
    modules = [
        importlib.import_module(f"{sasl.__name__}.{module.name}") for module in pkgutil.iter_modules(sasl.__path__)
    ]
    declared = {
        name: value for module in modules for name, value in vars(module).items() if isinstance(value, Mechanism)
    }
    assert {mechanism.name for mechanism in declared.values()} == set(MECHANISMS)
    for mechanism in MECHANISMS.values():
        assert set(mechanism.needs) <= NAMES, mechanism.name
