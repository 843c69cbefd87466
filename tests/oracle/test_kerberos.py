"""GSSAPI with real tickets: MIT's library on our side, Java's on the broker's, and a KDC between them."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from kafka_lagoon.errors import AuthenticationFailed
from kafka_lagoon.sasl.kerberos import Kerberos
from tests.oracle import kerberos
from tests.oracle.java_codec import JavaCodec
from tests.oracle.kerberos import REALM, Realm
from tests.oracle.test_sasl import authenticated

pytest.importorskip("gssapi", reason="the package gssapi is not installed", exc_type=ImportError)
pytestmark = [
    pytest.mark.java,
    pytest.mark.skipif(not kerberos.is_installed(), reason="no KDC on this machine (Debian: krb5-kdc)"),
]

_ACCEPT = """
com.sun.security.jgss.accept {{
    com.sun.security.auth.module.Krb5LoginModule required
    useKeyTab=true storeKey=true isInitiator=false keyTab="{keytab}" principal="kafka/localhost@{realm}";
}};
"""


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    """A realm in which the broker is kafka/localhost and the client is alice."""
    with kerberos.realm(tmp_path_factory.mktemp("kerberos")) as running:
        yield running


@pytest.fixture(scope="module")
def server(realm: Realm, codecs: Sequence[JavaCodec]) -> Any:
    """Make a broker's end of a connection, as Kafka does."""
    jvm = codecs[0].jvm
    jaas = realm.folder / "jaas.conf"
    jaas.write_text(_ACCEPT.format(keytab=realm.keytab("kafka/localhost"), realm=REALM))
    for name, value in {
        "java.security.krb5.conf": realm.config,
        "java.security.auth.login.config": jaas,
        "javax.security.auth.useSubjectCredsOnly": "false",
    }.items():
        jvm.java.lang.System.setProperty(name, str(value))

    def made() -> Any:
        handler = jvm.org.apache.kafka.common.security.authenticator.SaslServerCallbackHandler()
        handler.configure(jvm.java.util.HashMap(), "GSSAPI", jvm.java.util.ArrayList())
        return jvm.javax.security.sasl.Sasl.createSaslServer(
            "GSSAPI", "kafka", "localhost", jvm.java.util.HashMap(), handler
        )

    return made


@pytest.fixture
def keytab(realm: Realm, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return Alice's keytab, in a process that knows the realm and has no tickets."""
    monkeypatch.setenv("KRB5_CONFIG", str(realm.config))
    monkeypatch.setenv("KRB5CCNAME", "MEMORY:none")
    return str(realm.keytab("alice"))


def test_let_in_by_keytab(server: Any, keytab: str) -> None:
    """The broker authenticates the keytab's principal; twice, the second time with the existing ticket."""
    for _ in range(2):
        mechanism = Kerberos(host="localhost", service="kafka", principal="alice", keytab=keytab)
        assert authenticated(mechanism, server()) == f"alice@{REALM}"


def test_unknown_service(server: Any, keytab: str) -> None:
    """Kerberos's error is reported on one line."""
    mechanism = Kerberos(host="localhost", service="redpanda", principal="alice", keytab=keytab)
    with pytest.raises(AuthenticationFailed, match=r"redpanda/localhost.* not found in Kerberos database") as failure:
        authenticated(mechanism, server())
    assert "\n" not in str(failure.value)


def test_no_credentials(server: Any, keytab: str) -> None:  # noqa: ARG001  the realm, without the keys
    """There is neither a keytab nor a ticket."""
    with pytest.raises(AuthenticationFailed, match="GSSAPI: "):
        authenticated(Kerberos(host="localhost", service="kafka"), server())


def test_keytab_of_somebody_else(server: Any, keytab: str) -> None:
    """The principal has no keys in the keytab."""
    mechanism = Kerberos(host="localhost", service="kafka", principal="bob", keytab=keytab)
    with pytest.raises(AuthenticationFailed, match=f"GSSAPI: no ticket for bob by the keytab {keytab}: "):
        authenticated(mechanism, server())
