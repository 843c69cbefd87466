"""Text of files, command lines and environments: settings, certificates, and the words of options."""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from kafka_lagoon import jaas as jaas_module
from kafka_lagoon import java_properties
from kafka_lagoon.addresses import parse_address, reached_address
from kafka_lagoon.apply.kinds import names
from kafka_lagoon.cli.thresholds import Unit, _parser
from kafka_lagoon.client import identity, keystores
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.offset_specs import parse_offset_specs
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.secret import Secret
from kafka_lagoon.settings_sources import load
from kafka_lagoon.source import options
from kafka_lagoon.times import parse_time_ms

_ROOT = Path(__file__).parents[4]
_FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-")
_NOW_MS = 1_795_000_000_000
_BETWEEN = b"\0"  # parts of an input
_LIMITS = {"lag": (Unit.COUNT, "records"), "age": (Unit.DURATION, "of the oldest")}


def text(data: bytes) -> str:
    """Decode as Python does with the words of a command line."""
    return data.decode(errors="surrogateescape")


def file_of(name: str, content: bytes) -> Path:
    """Write the file of an input; the next input writes it again."""
    path = Path(_FOLDER.name) / name
    path.write_bytes(content)
    return path


def jaas(data: bytes) -> None:
    with suppress(ValueError):
        jaas_module.settings_of(text(data))


def jaas_seeds() -> Iterator[bytes]:
    yield b'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p\\"q;";'
    yield b"a.ScramLoginModule required username=u password=p tokenauth=true ;\n"
    yield b'OAuthBearerLoginModule optional clientId="c" clientSecret=s scope="a b" extension_pool=x extension_b=y;'
    yield b'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/k" principal="a@B";'


def properties(data: bytes) -> None:
    """The file of a Java client: parsed, and then the settings that it has."""
    java_properties.read(text(data))
    with suppress(ConfigError):
        load(None, {}, kafka_properties=file_of("client.properties", data), tables_needed=False)


def properties_seeds() -> Iterator[bytes]:
    yield b"bootstrap.servers=a:9092, [::1]:9093\nsecurity.protocol : SASL_SSL\nsasl.mechanism PLAIN\\\n   \n! x\n"
    yield b'sasl.jaas.config=org.PlainLoginModule required \\\n username="u" \\\n password="\\u0041\\t\\\\";\r\n#\r'
    yield b"ssl.endpoint.identification.algorithm=\nssl.truststore.location=/t\nrequest.timeout.ms=9x\nunknown=1\n"


def settings(data: bytes) -> None:
    """A file of settings, and after a zero byte overrides and names of the environment, a line each."""
    content, _, more = data.partition(_BETWEEN)
    overrides = text(more).splitlines()
    environ = {f"LAGOON_{name}": value for name, _, value in (line.partition("=") for line in overrides)}
    conf = file_of("conf.toml", content)
    for source in ({"environ": environ}, {"environ": {}, "overrides": overrides}):
        with suppress(ConfigError):
            load(conf, **source)


def settings_seeds() -> Iterator[bytes]:
    yield (_ROOT / "conf" / "local.toml").read_bytes()
    yield b'warehouse="/w"\n[kafka]\nbootstrap_servers="h:1"\n[retention]\nsnapshots_all_days=3\0kafka.client_id=x\nsnapshot.topics=a('
    yield b'catalog="c"\nschema="s"\n[clusters.a]\nbootstrap_servers="h:1"\nsasl_password="env:X"\n[ingest]\npattern="(a+)+"\n'
    yield b"umask=027\n[a]\nb=[{c=1},2020-01-01T00:00:00Z]\0KAFKA__BOOTSTRAP_SERVERS=h:1\nsnapshot=1\nsnapshot.x=2"
    yield b"[" * 50 + b"]" * 50
    yield b"a=" + b"[" * 50 + b"]" * 50 + b"\n" + b".".join([b"a"] * 50) + b"=1"


def certificates(data: bytes) -> None:
    """Every place where a file of certificates, keys or revocations is read, with and without a password."""
    path = str(file_of("store", data))
    for password in (None, Secret("changeit")):
        with suppress(ConfigError):
            keystores.trusted(_tls(ssl_truststore_location=path, ssl_truststore_password=password))
        with suppress(ConfigError):
            keystores.own(_tls(ssl_keystore_location=path, ssl_keystore_password=password, ssl_key_password=password))
    with suppress(ConfigError):
        keystores.revoked(_tls(ssl_crl_location=path))


def _tls(**given: object) -> KafkaSettings:
    return KafkaSettings(bootstrap_servers="h:1", security_protocol="SSL", **given)


def certificates_seeds() -> Iterator[bytes]:
    yield b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----AAAA-----END PRIVATE KEY-----"
    yield b"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\xfe"
    yield b"-----BEGIN X509 CRL-----AAAA-----END X509 CRL-----"
    yield b"\xfe\xed\xfe\xed\0\0\0\2"


def words(data: bytes) -> None:
    """Each parser of words refuses by a ValueError, or by argparse's error."""
    given = text(data)
    parsers: tuple[Callable[[str], object], ...] = (
        lambda word: parse_time_ms(word, _NOW_MS),
        lambda word: parse_offset_specs("start", word, _NOW_MS),
        parse_address,
        reached_address,
        names.parse_partition,
        names.parse_quota_name,
        names.parse_listener,
        identity.cluster_id_fault,
        identity.topic_fault,
        identity.host_fault,
        _parser(_LIMITS, {"time": "lagoon lag"}),
        lambda word: options.parse(dict(part.partition("=")[::2] for part in word.splitlines())),
    )
    for parse in parsers:
        with suppress(ValueError, ConfigError, argparse.ArgumentTypeError):
            parse(given)


def words_seeds() -> Iterator[bytes]:
    yield from (
        b"2026-11-21T06:00",
        b"2026-W47-6T06+01:00",
        b"9999-12-31T23:59:59.999999-23:59",
        b"2h ago",
        b"yesterday",
    )
    yield from (b"earliest", b"latest - 5", b"orders:0=5,orders:1=7", b"99999999999999999999", b"[::ffff:1.2.3.4]:9092")
    yield from (b"64:ff9b::1.2.3.4", b"fe80::1%eth0", b"2001:0:1::1", b"orders-7", b'user="a b", client-id=<default>')
    yield from (b"CONTROLLER://[::1]:9093", b'a "b c" d', b"lag=10k,age=1.5h", b"age", b"MkU3OEVBNTcwNTJENDM2Qg")
    yield b'subscribe=a\nstartingOffsets={"a":{"0":-2},"#topic_ids":{"a":"x"}}\nkafka.bootstrap.servers=h:1\nminPartitions=3'
    yield b'assign={"a":[0]}\nendingOffsetsByTimestamp={"a":{"0":5}}\nfailOnDataLoss=false\nincludeHeaders=true'
    yield b"subscribePattern=a(b\nstartingTimestamp=5\nkafka.isolation.level=read_uncommitted"
