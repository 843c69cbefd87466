"""Logins by settings; secrets are read for each connection and not earlier."""

import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from kafka_lagoon.client.logins import login_for
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.kafka_settings import KafkaSettings, checked
from kafka_lagoon.sasl.kerberos import Kerberos
from kafka_lagoon.sasl.oauthbearer import OAuthBearer
from kafka_lagoon.sasl.plain import Plain
from kafka_lagoon.sasl.scram import Scram
from kafka_lagoon.sasl.token import Token
from tests.certificates import ROOT_PEM, server_context
from tests.client.endpoint import answering, endpoint
from tests.clock import CLOCK


def settings(mechanism: str, **given: Any) -> KafkaSettings:
    """Make settings of a cluster on this machine."""
    return checked(
        {
            "bootstrap_servers": "localhost:9092",
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": mechanism,
            **given,
        }
    )


def bearer(**given: Any) -> OAuthBearer:
    """Make the mechanism of OAUTHBEARER settings."""
    made = login_for(settings("OAUTHBEARER", **given), "localhost", CLOCK)
    assert isinstance(made, OAuthBearer)
    return made


def test_user_and_password() -> None:
    """PLAIN and SCRAM get user and password, SCRAM also for delegation tokens."""
    given = {"sasl_username": "alice", "sasl_password": "word"}
    assert login_for(settings("PLAIN", **given), "localhost", CLOCK) == Plain(username="alice", password="word")  # noqa: S106
    for name in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        for delegation_token in (False, True):
            made = login_for(settings(name, **given, sasl_scram_tokenauth=delegation_token), "localhost", CLOCK)
            expected = {"name": name, "username": "alice", "password": "word", "delegation_token": delegation_token}
            assert made == Scram(**expected)


def test_a_jaas_line_is_looked_up_for_each_connection(tmp_path: Path) -> None:
    """A reference to a JAAS line is kept, so neither the settings nor executors hold the password; each login reads it again."""
    path = tmp_path / "jaas"
    given = settings("SCRAM-SHA-512", sasl_jaas_config=f"file:{path}")
    for user in ("alice", "bob"):
        path.write_text(f'a.ScramLoginModule required username="{user}" password="file:hunter2";\n')
        assert login_for(given, "localhost", CLOCK) == Scram(
            name="SCRAM-SHA-512",
            username=user,
            password="file:hunter2",  # noqa: S106
        )
        assert given.principal() == f"User:{user}"
    assert b"hunter2" not in pickle.dumps(given)
    for line, fault in (
        ("a.ScramLoginModule required username=hunter2", "sasl_jaas_config: must be `MODULE required"),
        ("a.ScramLoginModule required username=hunter2;", "sasl_mechanism SCRAM-SHA-512 needs sasl_password"),
        ("", f"file:{path}: it is empty"),
    ):
        path.write_text(line)
        with pytest.raises(ConfigError, match=re.escape(fault)) as raised:
            login_for(given, "localhost", CLOCK)
        assert "hunter2" not in str(raised.value)
    path.unlink()
    with pytest.raises(ConfigError, match=f"file:{path}"):
        login_for(given, "localhost", CLOCK)


def test_a_jaas_line_that_contradicts_a_setting(tmp_path: Path) -> None:
    """The name of Kerberos' service may be in the line and beside it, but must be the same, as in a Java client."""
    (tmp_path / "jaas").write_text("a.Krb5LoginModule required serviceName=kafka-1;")
    for service in ("kafka-1", "kafka-2"):
        given = settings("GSSAPI", sasl_jaas_config=f"file:{tmp_path}/jaas", sasl_kerberos_service_name=service)
        if service == "kafka-1":
            assert login_for(given, "localhost", CLOCK) == Kerberos(host="localhost", service="kafka-1")
        else:
            with pytest.raises(ConfigError, match="sets sasl_kerberos_service_name to another value"):
                login_for(given, "localhost", CLOCK)


def test_secrets_are_looked_up_for_each_connection(tmp_path: Path) -> None:
    """A changed password is used by the next connection."""
    path = tmp_path / "word"
    given = settings("PLAIN", sasl_username="alice", sasl_password=f"file:{path}")
    for word in ("one", "two"):
        path.write_text(word + "\n")
        assert login_for(given, "localhost", CLOCK).secrets == (word,)
    path.unlink()
    with pytest.raises(ConfigError, match=f"file:{path}"):
        login_for(given, "localhost", CLOCK)


def test_a_token_that_is_given() -> None:
    """The given token is sent with its extensions."""
    made = bearer(sasl_oauthbearer_token="abc", sasl_oauthbearer_extensions="a=b,c=d")  # noqa: S106
    assert made == OAuthBearer(token=Token("abc"), extensions=(("a", "b"), ("c", "d")))


def provide(host: str) -> tuple[str, int]:
    """Return a token for a broker."""
    return f"for-{host}", CLOCK.now_ms() + 3_600_000


def test_a_token_of_a_function() -> None:
    """The function is called with the broker of the connection."""
    function = f"{__name__}:provide"
    assert bearer(sasl_oauthbearer_token_provider=function).token.value == "for-localhost"


def test_a_token_of_an_endpoint() -> None:
    """The token is fetched once, from an endpoint whose certificate the cluster's truststore may verify."""
    with endpoint(answering("200 OK", {"access_token": "abc", "expires_in": 300}), server_context()) as server:
        given = {
            "ssl_truststore_certificates": ROOT_PEM,
            "sasl_oauthbearer_token_endpoint_url": server.url,
            "sasl_oauthbearer_client_id": "lagoon",
            "sasl_oauthbearer_client_secret": "word",
        }
        with pytest.raises(ConfigError, match="is not among sasl_oauthbearer_allowed_urls"):
            bearer(**given)
        assert server.requests == []
        for _ in range(3):
            assert bearer(**given, sasl_oauthbearer_allowed_urls=server.url).token.value == "abc"
        assert len(server.requests) == 1


def test_an_unsecured_token_stays_on_this_machine() -> None:
    """An unsecured token is refused for every other host, also if a broker advertises it."""
    given = settings("OAUTHBEARER", sasl_oauthbearer_unsecured_principal="alice")
    assert login_for(given, "127.0.0.1", CLOCK).name == "OAUTHBEARER"
    with pytest.raises(ConfigError, match=r"broker\.example is not this machine"):
        login_for(given, "broker.example", CLOCK)


def test_kerberos() -> None:
    """The service name has the host without the final dot of a full name."""
    given = settings("GSSAPI", sasl_kerberos_keytab="/keys/alice", sasl_kerberos_principal="alice")
    expected = Kerberos(host="broker.example", service="kafka", principal="alice", keytab="/keys/alice")
    assert login_for(given, "broker.example.", CLOCK) == expected
