"""Settings of a connection to Kafka: addresses, and security settings that contradict each other or would show a secret."""

from pathlib import Path

import pytest

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.secret import Secret
from kafka_lagoon.settings_sources import load
from tests.test_settings import MINIMAL, conf, faults

SECURE = MINIMAL + 'security_protocol = "SASL_SSL"\nsasl_mechanism = "PLAIN"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SECURE, "sasl_mechanism PLAIN needs sasl_username; sasl_mechanism PLAIN needs sasl_password"),
        (MINIMAL + 'security_protocol = "SASL_SSL"\n', "security_protocol SASL_SSL needs sasl_mechanism"),
        (MINIMAL + 'sasl_mechanism = "PLAIN"\n', "but security_protocol PLAINTEXT does not authenticate"),
        (MINIMAL + 'ssl_crl_location = "a"\n', "ssl_crl_location is set, but security_protocol PLAINTEXT uses no TLS"),
        (MINIMAL + 'cluster_id = ""\n', "kafka.cluster_id: is empty: leave it out, or give the id that"),
        (SECURE.replace("_SSL", "_PLAINTEXT"), "PLAIN without TLS shows its credentials"),
        (SECURE + 'ssl_endpoint_identification_algorithm = ""\n', "needs ssl_endpoint_identification_algorithm https"),
        (SECURE.replace("PLAIN", "OAUTHBEARER"), "and has none"),
        (SECURE + 'ssl_truststore_type = "JKS"\n', "keytool -importkeystore"),
        (SECURE + 'sasl_jaas_config = "a.b.PlainLoginModule required username=x"\n', "end with a semicolon"),
        (
            SECURE + 'sasl_jaas_config = "a.b.PlainLoginModule required passwort=x;"\n',
            "is not one of username, password",
        ),
        (
            SECURE
            + "sasl_username = 'alice'\nsasl_jaas_config = 'a.PlainLoginModule required username=bob password=x;'\n",
            "kafka: sasl_jaas_config: sets sasl_username to another value than the setting beside it: keep one of them",
        ),
        (
            SECURE
            + "sasl_password = 'env:X'\nsasl_jaas_config = 'a.PlainLoginModule required username=bob password=x;'\n",
            "kafka: sasl_jaas_config: sets sasl_password to another value",
        ),
        (SECURE + 'sasl_jaas_config = "a.b.OtherModule required;"\n', "the login module is not one of"),
        (
            SECURE.replace("PLAIN", "OAUTHBEARER") + 'sasl_oauthbearer_unsecured_principal = "me"\n',
            "for brokers on this machine only",
        ),
    ],
)
def test_security_that_cannot_be_meant(tmp_path: Path, text: str, expected: str) -> None:
    """Missing settings, settings without effect, and settings that would show a password to others are faults before any I/O."""
    assert any(expected in line for line in faults(tmp_path, text))


def test_variables_that_are_empty(tmp_path: Path) -> None:
    """An empty variable sets no file, text or password, so it does not contradict a protocol without TLS."""
    names = (
        "ssl_truststore_location",
        "ssl_truststore_certificates",
        "ssl_truststore_password",
        "ssl_crl_location",
        "ssl_keystore_location",
        "ssl_keystore_key",
        "ssl_key_password",
        "sasl_password",
    )
    environ = {f"LAGOON_KAFKA__{name.upper()}": "" for name in names}
    settings = load(conf(tmp_path, MINIMAL), environ).kafka
    assert settings
    assert not any(getattr(settings, name) for name in names)


BOB = "a.ScramLoginModule required username=bob password='env:bob';"
ALICE = SECURE.replace('"PLAIN"', '"SCRAM-SHA-512"') + 'sasl_username = "alice"\n'


@pytest.mark.parametrize(
    "conf_has", ["sasl_password = 'pw'\n", "sasl_password = 'pw'\nsasl_scram_tokenauth = true\n", ""]
)
def test_a_later_jaas_line_replaces_a_login(tmp_path: Path, conf_has: str) -> None:
    """The login is the later source's alone, also where an earlier one has settings that the line does not have."""
    properties = tmp_path / "client.properties"
    properties.write_text(f"sasl.jaas.config={BOB}\n")
    path = conf(tmp_path, ALICE + conf_has)
    variable = {"LAGOON_KAFKA__SASL_JAAS_CONFIG": BOB}
    for settings in (load(path, {}, (), properties), load(path, variable)):
        assert settings.kafka
        assert (settings.kafka.sasl_username, settings.kafka.sasl_scram_tokenauth) == ("bob", False)
        assert settings.kafka.sasl_password == Secret.literal("env:bob")
    properties.write_text("sasl.jaas.config=a.ScramLoginModule required username=bob;\n")
    with pytest.raises(ConfigError, match=r"kafka: sasl_mechanism SCRAM-SHA-512 needs sasl_password$"):
        load(path, {}, (), properties)


def test_a_jaas_line_without_a_login(tmp_path: Path) -> None:
    """Java's clients want one beside a token endpoint. It names nobody, and leaves the login of earlier sources."""
    properties = tmp_path / "client.properties"
    properties.write_text("sasl.jaas.config=a.OAuthBearerLoginModule required;\n")
    extensions = 'sasl_oauthbearer_token_provider = "a:b"\nsasl_oauthbearer_extensions = "logicalCluster=lkc-1"\n'
    settings = load(conf(tmp_path, SECURE.replace('"PLAIN"', '"OAUTHBEARER"') + extensions), {}, (), properties)
    assert settings.kafka
    assert settings.kafka.sasl_oauthbearer_extensions == "logicalCluster=lkc-1"


def test_settings_override_an_earlier_jaas_line(tmp_path: Path) -> None:
    """One value of a line can be overridden, and a line that is a reference as a whole."""
    clusters = SECURE.replace("[kafka]", "[clusters.a]").replace('"PLAIN"', '"SCRAM-SHA-512"')
    given = load(conf(tmp_path, f'{clusters}sasl_jaas_config = "{BOB}"\n'), {}, ["clusters.a.sasl_password=env:OTHER"])
    kafka = given.named_clusters()["a"]
    assert (kafka.sasl_username, kafka.sasl_password) == ("bob", Secret("env:OTHER"))
    reference = conf(tmp_path, clusters + 'sasl_jaas_config = "env:LAGOON_TEST_JAAS"\n')
    alice = ["clusters.a.sasl_username=alice", "clusters.a.sasl_password=env:OTHER"]
    kafka = load(reference, {}, alice).named_clusters()["a"]
    assert (kafka.sasl_username, kafka.sasl_jaas_config) == ("alice", None)
    with pytest.raises(ConfigError, match="needs sasl_username"):
        load(reference, {}, alice[1:])


def test_a_jaas_line_that_is_a_reference(tmp_path: Path) -> None:
    """Settings load where it cannot be resolved, because commands that do not connect need no login."""
    settings = load(conf(tmp_path, ALICE), {}, ["kafka.sasl_jaas_config=env:LAGOON_TEST_JAAS"])
    assert settings.kafka
    assert settings.kafka.sasl_jaas_config == Secret("env:LAGOON_TEST_JAAS")
    assert settings.kafka.sasl_username is None


def test_a_java_clients_properties(tmp_path: Path) -> None:
    """The login module line becomes settings; a security property that we do not know is a fault, other properties are not."""
    properties = tmp_path / "client.properties"
    properties.write_text(
        "security.protocol=SASL_SSL \nsasl.mechanism=SCRAM-SHA-512\t\nmax.poll.records=1\n"
        "bootstrap.servers=SASL_SSL://one:9092 , two:9092\nssl.truststore.password=pw\\u00a0\\n\n"
        "ssl.truststore.location=/ca.pem\nssl.protocol=TLSv1.3\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
        '  username="al\\\\"ice" password="hunter;2=";\n'
    )
    settings = load(conf(tmp_path, MINIMAL), {}, (), properties)
    assert settings.kafka is not None
    assert settings.kafka.addresses() == (("one", 9092), ("two", 9092))
    assert settings.kafka.ssl_truststore_password == Secret("pw\u00a0")
    assert settings.kafka.sasl_username == 'al"ice'
    assert settings.kafka.sasl_password is not None
    assert settings.kafka.sasl_password.reveal() == "hunter;2="
    assert settings.kafka.sasl_jaas_config is None
    properties.write_text(
        "security.protocol=ssl\nssl.endpoint.identification.algorithm=HTTPS\nssl.truststore.type=pkcs12\n"
        "ssl.truststore.location=/ca.p12\n"
    )
    in_any_case = load(conf(tmp_path, MINIMAL), {}, (), properties).kafka
    assert in_any_case
    assert in_any_case.security_protocol == "SSL"
    assert in_any_case.ssl_endpoint_identification_algorithm == "https"
    assert in_any_case.ssl_truststore_type == "PKCS12"
    properties.write_text("ssl.cipher.suites=A\n")
    with pytest.raises(ConfigError, match=r"ssl\.cipher\.suites: not supported"):
        load(conf(tmp_path, MINIMAL), {}, (), properties)


def test_properties_in_latin_1(tmp_path: Path) -> None:
    """Java reads properties as Latin-1, so a file that is not UTF-8 is such a file; one with NUL is no text."""
    properties = tmp_path / "client.properties"
    properties.write_bytes("# für alle\nclient.id=Müller\n".encode("latin-1"))
    settings = load(conf(tmp_path, MINIMAL), {}, (), properties).kafka
    assert settings
    assert settings.client_id == "Müller"
    properties.write_bytes("client.id=Müller\n".encode("utf-16"))
    with pytest.raises(ConfigError, match=r"client\.properties: not text"):
        load(conf(tmp_path, MINIMAL), {}, (), properties)
