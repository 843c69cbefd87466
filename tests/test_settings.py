"""Settings: order of sources, and every fault at once in words that name the setting."""

import pickle
from collections.abc import Sequence
from pathlib import Path

import pytest

from kafka_lagoon import jaas
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.kafka_settings import parse_address
from kafka_lagoon.secret import Secret
from kafka_lagoon.settings import SECTIONS, Settings, load
from tests.plain_lines import python_in

MINIMAL = 'warehouse = "/lake"\n[kafka]\nbootstrap_servers = "one:9092"\n'


def conf(folder: Path, text: str) -> Path:
    path = folder / "conf.toml"
    path.write_text(text)
    return path


def faults(
    folder: Path, text: str, environ: dict[str, str] | None = None, overrides: tuple[str, ...] = ()
) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        load(conf(folder, text), environ or {}, overrides)
    return list(raised.value.problems)


def test_later_sources_win(tmp_path: Path) -> None:
    """File, then client.properties, then environment, then --set."""
    properties = tmp_path / "client.properties"
    properties.write_text("# a comment\nbootstrap.servers = two:9092\nclient.id=two\nmax.poll.records=1\n")
    path = conf(tmp_path, MINIMAL + 'client_id = "one"\nrequest_timeout_ms = 1\n')
    environ = {"LAGOON_KAFKA__CLIENT_ID": "three", "LAGOON_KAFKA__REQUEST_TIMEOUT_MS": "3", "PATH": "/bin"}
    settings = load(path, environ, ["kafka.request_timeout_ms=4"], properties)
    assert settings.kafka is not None
    assert settings.kafka.bootstrap_servers == "two:9092"
    assert settings.kafka.client_id == "three"
    assert settings.kafka.request_timeout_ms == 4


def test_clusters_keep_their_names(tmp_path: Path) -> None:
    """The one cluster is `default`; several keep the names of their sections."""
    one = load(conf(tmp_path, MINIMAL), {})
    assert list(one.named_clusters()) == ["default"]
    text = 'warehouse = "/lake"\n[clusters.a]\nbootstrap_servers = "a:1"\n[clusters.b]\nbootstrap_servers = "b:2"\n'
    several = load(conf(tmp_path, text), {})
    assert {name: kafka.bootstrap_servers for name, kafka in several.named_clusters().items()} == {
        "a": "a:1",
        "b": "b:2",
    }


def test_all_faults_are_listed_at_once(tmp_path: Path) -> None:
    """One run of the command shows every mistake, each with the setting's name and a guess at what was meant."""
    found = faults(
        tmp_path,
        'warehose = "/lake"\n[kafka]\nboostrap_servers = "one:9092"\n',
        {"LAGOON_SNAPSHOTS__DEADLINE_MS": "5"},
        ("nonsense",),
    )
    assert any(line.startswith("warehose: no such setting (did you mean warehouse?)") for line in found)
    assert any(
        line.startswith("kafka.boostrap_servers: no such setting (did you mean bootstrap_servers?)") for line in found
    )
    assert any("LAGOON_SNAPSHOTS__DEADLINE_MS" in line and "did you mean snapshot?" in line for line in found)
    assert "--set nonsense: write it as key=value" in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('warehouse = "/lake"\n', "no cluster: set kafka.bootstrap_servers, or [clusters.NAME]"),
        ('[kafka]\nbootstrap_servers = "one:9092"\n', "no place for the tables: set warehouse, or catalog and schema"),
        (
            'warehouse = "/lake"\n[kafka]\nbootstrap_servers = "one"\n',
            "kafka.bootstrap_servers: 'one' is not host:port",
        ),
        (MINIMAL + "[clusters.a]\nbootstrap_servers = 'a:1'\n", "[kafka] and [clusters.NAME] exclude each other"),
        (MINIMAL.replace("[kafka]", 'catalog = "c"\n[kafka]'), "warehouse and catalog exclude each other"),
        ("warehouse = \n", "not TOML"),
    ],
)
def test_a_fault_is_named(tmp_path: Path, text: str, expected: str) -> None:
    """Each mistake has a line of its own that says what to set."""
    assert any(expected in line for line in faults(tmp_path, text))


def test_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    """A --conf that is not there is a configuration error, not a traceback."""
    with pytest.raises(ConfigError, match="No such file"):
        load(tmp_path / "absent.toml", {})


@pytest.mark.parametrize("raw", [b"\xff", b"a = " + b"9" * 5_000, b"a = [", b"= 5", b"\x00"])
def test_a_file_that_is_no_toml(tmp_path: Path, raw: bytes) -> None:
    """Whatever is wrong with its bytes is one plain line."""
    path = tmp_path / "conf.toml"
    path.write_bytes(raw)
    with pytest.raises(ConfigError) as raised:
        load(path, {}, cluster_needed=False, tables_needed=False)
    (line,) = raised.value.problems
    assert line.startswith(f"--conf {path}: not ")
    assert python_in(line) == []
    assert "codec" not in line


def test_values_are_never_shown(tmp_path: Path) -> None:
    """A bad value may be a secret in the wrong place, so it is not repeated."""
    found = faults(tmp_path, MINIMAL + 'request_timeout_ms = "hunter2"\n')
    assert len(found) == 1
    assert "hunter2" not in found[0]


SECTION_NAMES = [*SECTIONS, "clusters"]
WRONG = ("-7", "5", "1.5", "nan", "true", '"hunter2"', '""', '["hunter2"]', '{a = "hunter2"}', "1979-05-27", "9" * 40)


@pytest.mark.parametrize("section", ["", *SECTIONS, "clusters.prod"])
@pytest.mark.parametrize("value", WRONG)
def test_wrong_values_are_told_in_plain_words(tmp_path: Path, section: str, value: str) -> None:
    """Each line names one setting, once, and says what it must be: no type of Python or pydantic, and not the value."""
    names = [str(field.validation_alias or name) for name, field in Settings.model_fields.items()]
    told = [name for name in names if name not in SECTION_NAMES]
    if section:
        told = list(SECTIONS.get(section, SECTIONS["kafka"]).model_fields)
    given = dict.fromkeys(told, value) | ({"bootstrap_servers": '"a:1"'} if "hunter2" in value else {})
    text = "".join(f"{name} = {one}\n" for name, one in given.items() if name in told)
    with pytest.raises(ConfigError) as raised:
        load(conf(tmp_path, f"[{section}]\n{text}" if section else text), {})
    lines = raised.value.problems
    _check_lines(lines)
    located = [line.partition(": ")[0] for line in lines]
    assert {where for where in located if where.count(".")} <= {section, *(f"{section}.{name}" for name in told)}


@pytest.mark.parametrize("value", WRONG)
def test_sections_that_are_none(tmp_path: Path, value: str) -> None:
    """A value where a section has to be is told in plain words too, wherever it was told."""
    text = "".join(f"{name} = {value}\n" for name in SECTION_NAMES)
    _check_lines(faults(tmp_path, text))
    _check_lines(faults(tmp_path, f"[clusters]\nprod = {value}\n"))
    plain = value.strip('"')
    _check_lines(faults(tmp_path, "", {"LAGOON_KAFKA": plain, "LAGOON_CLUSTERS__PROD": plain}))
    _check_lines(
        faults(tmp_path, "", {}, (f"kafka={plain}", f"kafka.client_id={plain}", f"snapshot.deadline_ms.a={plain}"))
    )


def _check_lines(lines: Sequence[str]) -> None:
    assert lines
    assert len(set(lines)) == len(lines)
    assert [found for line in lines for found in python_in(line)] == []
    assert "hunter2" not in "".join(lines)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kafka.sasl_password=5", None),  # what comes as text is text
        ("snapshot.deadline_ms=soon", "snapshot.deadline_ms: must be a whole number"),
        ("snapshot.deadline_ms=0", "snapshot.deadline_ms: must be above 0"),
        ("snapshot.lock_wait_ms=-1", "snapshot.lock_wait_ms: must be at least 0"),
        ("ingest.batch_limit_mb=2048", "ingest.batch_limit_mb: must be at most 2047"),
        ("ingest.check_crcs=maybe", "ingest.check_crcs: must be true or false"),
        ("records.writer=me", "records.writer: must be kernel or spark"),
        (
            "kafka.ssl_endpoint_identification_algorithm=x",
            "kafka.ssl_endpoint_identification_algorithm: must be https or empty",
        ),
        ("kafka=x", "kafka: is set as a value and as a section"),
        ("schem=x", "schem: no such setting (did you mean schema?)"),
    ],
)
def test_what_a_value_must_be(tmp_path: Path, line: str, expected: str | None) -> None:
    """In one line, with the bound or the choices."""
    overrides = ("kafka.bootstrap_servers=a:1", line)
    if expected is None:
        load(conf(tmp_path, 'warehouse = "/lake"\n'), {}, overrides)
    else:
        assert faults(tmp_path, 'warehouse = "/lake"\n', {}, overrides) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a:1", ("a", 1)), ("[::1]:9092", ("::1", 9092)), (" b.example:65535 ", ("b.example", 65535))],
)
def test_addresses(text: str, expected: tuple[str, int]) -> None:
    """Host names, IPv4 and bracketed IPv6."""
    assert parse_address(text) == expected


@pytest.mark.parametrize("text", ["a", "a:", "a:0", "a:65536", "a:x", ":1", "http://a:1", "::1:9"])
def test_bad_addresses(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match="is not host:port"):
        parse_address(text)


SECURE = MINIMAL + 'security_protocol = "SASL_SSL"\nsasl_mechanism = "PLAIN"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SECURE, "sasl_mechanism PLAIN needs sasl_username; sasl_mechanism PLAIN needs sasl_password"),
        (MINIMAL + 'security_protocol = "SASL_SSL"\n', "security_protocol SASL_SSL needs sasl_mechanism"),
        (MINIMAL + 'sasl_mechanism = "PLAIN"\n', "but security_protocol PLAINTEXT does not authenticate"),
        (MINIMAL + 'ssl_crl_location = "a"\n', "ssl_crl_location is set, but security_protocol PLAINTEXT uses no TLS"),
        (SECURE.replace("_SSL", "_PLAINTEXT"), "PLAIN without TLS shows its credentials"),
        (SECURE + 'ssl_endpoint_identification_algorithm = ""\n', "needs ssl_endpoint_identification_algorithm https"),
        (SECURE.replace("PLAIN", "OAUTHBEARER"), "and has none"),
        (SECURE + 'ssl_truststore_type = "JKS"\n', "keytool -importkeystore"),
        (SECURE + 'sasl_jaas_config = "a.b.PlainLoginModule required username=x"\n', "end with a semicolon"),
        (SECURE + 'sasl_jaas_config = "a.b.PlainLoginModule required passwort=x;"\n', "has no option passwort"),
        (SECURE + 'sasl_jaas_config = "a.b.OtherModule required;"\n', "login module OtherModule is not one of"),
        (
            SECURE.replace("PLAIN", "OAUTHBEARER") + 'sasl_oauthbearer_unsecured_principal = "me"\n',
            "for brokers on this machine only",
        ),
    ],
)
def test_security_that_cannot_be_meant(tmp_path: Path, text: str, expected: str) -> None:
    """What is missing, what has no effect, and what would show a password to others is a fault before any I/O."""
    assert any(expected in line for line in faults(tmp_path, text))


def test_a_java_clients_properties(tmp_path: Path) -> None:
    """The login module's line becomes settings; a property about security that we lack is a fault, others are not."""
    properties = tmp_path / "client.properties"
    properties.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\nmax.poll.records=1\n"
        "ssl.truststore.location=/ca.pem\nssl.protocol=TLSv1.3\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
        '  username="al\\\\"ice" password="hunter;2=";\n'
    )
    settings = load(conf(tmp_path, MINIMAL), {}, (), properties)
    assert settings.kafka is not None
    assert settings.kafka.sasl_username == 'al"ice'
    assert settings.kafka.sasl_password is not None
    assert settings.kafka.sasl_password.reveal() == "hunter;2="
    assert settings.kafka.sasl_jaas_config is None
    properties.write_text("ssl.cipher.suites=A\n")
    with pytest.raises(ConfigError, match=r"ssl\.cipher\.suites: not supported"):
        load(conf(tmp_path, MINIMAL), {}, (), properties)


def test_a_modules_options_become_settings() -> None:
    """Every login module that Kafka brings is understood; what only Java needs is left out."""
    assert jaas.settings_of(
        "a.OAuthBearerLoginModule required clientId=c clientSecret='s' scope=\"a b\" extension_pool=x;"
    ) == {
        "sasl_oauthbearer_client_id": "c",
        "sasl_oauthbearer_client_secret": "'s'",
        "sasl_oauthbearer_scope": "a b",
        "sasl_oauthbearer_extensions": "pool=x",
    }
    told = 'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/k" principal="me@A.B";'
    assert jaas.settings_of(told) == {"sasl_kerberos_keytab": "/k", "sasl_kerberos_principal": "me@A.B"}


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    """Neither printing, nor logging, nor a complaint about a neighbour shows a secret; pickling keeps the reference."""
    text = SECURE + 'sasl_username = "u"\nsasl_password = "hunter2"\nssl_key_password = "env:LAGOON_TEST_KEY"\n'
    settings = load(conf(tmp_path, text), {})
    assert settings.kafka is not None
    assert "hunter2" not in f"{settings} {settings!r} {settings.kafka.model_dump()}"
    assert [secret.reveal() for secret in settings.kafka.secrets()[1:]] == ["hunter2"]
    travelled = pickle.loads(pickle.dumps(settings.kafka))  # noqa: S301  our own bytes
    assert travelled == settings.kafka
    with pytest.raises(ConfigError, match="env:LAGOON_TEST_KEY: this environment variable is not set"):
        travelled.ssl_key_password.reveal()
    assert not any("hunter2" in line for line in faults(tmp_path, text + 'sasl_scram_tokenauth = "hunter2"\n'))


def test_a_secret_in_a_file(tmp_path: Path) -> None:
    """The file's text without its last line break; read anew each time, so that it can be renewed."""
    kept = tmp_path / "password"
    secret = Secret(f"file:{kept}")
    kept.write_text("one\n")
    assert secret.reveal() == "one"
    kept.write_text("two")
    assert secret.reveal() == "two"
    kept.unlink()
    with pytest.raises(ConfigError, match="No such file"):
        secret.reveal()
