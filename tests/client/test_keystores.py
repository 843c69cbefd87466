"""Truststores and keystores: every supported format, and a line for each fault."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat, pkcs12

from kafka_lagoon.client import keystores
from kafka_lagoon.client.keystores import KeyPair
from kafka_lagoon.client.tls import context
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.sandbox.certificates import pem, truststore
from tests.certificates import CLIENT, MIDDLE, ROOT, ROOT_PEM, SERVER, tls_settings

SECRET = "open sesame"  # noqa: S105  what no message may show
TRADITIONAL = CLIENT.key.private_bytes(
    Encoding.PEM, PrivateFormat.TraditionalOpenSSL, BestAvailableEncryption(SECRET.encode())
).decode()
KEY_LINES = CLIENT.key_pem().splitlines()[1:-1]


@pytest.fixture
def file(tmp_path: Path) -> Callable[[bytes | str], str]:
    """Write content to a file and return its path."""

    def made(content: bytes | str) -> str:
        path = tmp_path / f"store-{len(list(tmp_path.iterdir()))}"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return made


def in_one_line(text: str, line_end: str) -> str:
    """Spell PEM in one line, as in a properties file."""
    return text.replace("\n", line_end)


def own(settings: KafkaSettings) -> KeyPair:
    """Return the client's certificate and key, which OpenSSL accepts."""
    context(settings)
    pair = keystores.own(settings)
    assert pair
    return pair


def test_without_stores() -> None:
    """Without a truststore the machine's CAs are trusted, without a keystore no certificate is sent."""
    settings = KafkaSettings(bootstrap_servers="a:1", security_protocol="SSL")
    assert keystores.trusted(settings) is None
    assert keystores.own(settings) is None
    assert keystores.revoked(settings) is None


@pytest.mark.parametrize(
    "text",
    [
        ROOT_PEM + pem(MIDDLE.chain[0]),
        "Vertrauenswürdig:\n" + ROOT_PEM + "# and\n" + pem(MIDDLE.chain[0]) + CLIENT.key_pem(),
        in_one_line(ROOT_PEM + pem(MIDDLE.chain[0]), " "),
        in_one_line(ROOT_PEM + pem(MIDDLE.chain[0]), ""),
        in_one_line(ROOT_PEM + pem(MIDDLE.chain[0]), "\\n"),
        in_one_line(ROOT_PEM + pem(MIDDLE.chain[0]), "\r\n"),
    ],
)
def test_trust_as_text(file: Callable[[bytes | str], str], text: str) -> None:
    """Certificates are found in PEM of any layout, among other text, inline and in files."""
    for settings in (
        tls_settings(ssl_truststore_certificates=text),
        tls_settings(ssl_truststore_location=file(text)),
    ):
        assert keystores.trusted(settings) == ROOT_PEM + pem(MIDDLE.chain[0])
        assert context(settings).cert_store_stats()["x509"] == 2


@pytest.mark.parametrize("certificates", [ROOT.chain, (ROOT.chain[0], MIDDLE.chain[0])])
def test_trust_in_pkcs12(file: Callable[[bytes | str], str], certificates: tuple[object, ...]) -> None:
    """A truststore that Java has made is read, also if its declared type is wrong."""
    settings = tls_settings(
        ssl_truststore_location=file(truststore(certificates, SECRET)),
        ssl_truststore_type="PEM",
        ssl_truststore_password=SECRET,
    )
    assert context(settings).cert_store_stats()["x509_ca"] == len(certificates)


def test_own_certificate_as_text(file: Callable[[bytes | str], str]) -> None:
    """Chain and key may be in one file in either order, in two files, or inline; the whole chain is used."""
    chain, key = CLIENT.chain_pem(), CLIENT.key_pem()
    for given in (
        {"ssl_keystore_location": file(chain + key)},
        {"ssl_keystore_location": file(key + chain)},
        {"ssl_keystore_location": file(key + chain), "ssl_keystore_key": "", "ssl_key_password": ""},
        {"ssl_keystore_certificate_chain": chain, "ssl_keystore_key": key},
        {"ssl_keystore_certificate_chain": in_one_line(chain, " "), "ssl_keystore_key": in_one_line(key, " ")},
        {"ssl_keystore_certificate_chain": chain, "ssl_keystore_key": f"file:{file(key)}"},
        {"ssl_keystore_location": file(chain), "ssl_keystore_key": f"file:{file(key)}"},
    ):
        pair = own(tls_settings(**given))
        assert (pair.chain, pair.key, pair.password) == (chain, key, None)


@pytest.mark.parametrize("key", [CLIENT.key_pem(SECRET), TRADITIONAL])
def test_encrypted_keys(file: Callable[[bytes | str], str], key: str) -> None:
    """Encrypted keys of both kinds are opened with their password."""
    location = file(CLIENT.chain_pem() + key)
    pair = own(tls_settings(ssl_keystore_location=location, ssl_key_password=SECRET))
    assert pair.password == SECRET
    assert SECRET not in repr(pair)
    assert KEY_LINES[0] not in repr(pair)


def test_own_certificate_in_pkcs12(file: Callable[[bytes | str], str]) -> None:
    """The chain of a keystore may have any order; it is sorted, and unrelated certificates are left out."""
    content = pkcs12.serialize_key_and_certificates(
        b"key",
        CLIENT.key,
        CLIENT.chain[0],
        [SERVER.chain[0], *reversed(CLIENT.chain[1:])],
        BestAvailableEncryption(SECRET.encode()),
    )
    pair = own(tls_settings(ssl_keystore_location=file(content), ssl_keystore_password=SECRET))
    assert pair.chain == CLIENT.chain_pem()
    assert own(tls_settings(ssl_keystore_location=file(CLIENT.pkcs12()))).chain == CLIENT.chain_pem()


JKS = b"\xfe\xed\xfe\xed\0\0\0\x02"
KEYTOOL = "keytool -importkeystore -srckeystore {0} -srcstoretype JKS -destkeystore {0}.p12 -deststoretype PKCS12"
NO_CERTIFICATE = "holds no certificate (-----BEGIN CERTIFICATE-----)"
NO_KEY = "holds no private key (-----BEGIN PRIVATE KEY-----)"
NO_LIST = "holds no list of revoked certificates (-----BEGIN X509 CRL-----)"
DAMAGED = "-----BEGIN {0}-----\nQUJD\n-----END {0}-----\n"
CHAIN = {"ssl_keystore_certificate_chain": CLIENT.chain_pem()}


@pytest.mark.parametrize(
    ("content", "given", "problem"),
    [
        (None, "ssl_truststore_location", "ssl_truststore_location: {0}: No such file or directory"),
        (None, "ssl_keystore_location", "ssl_keystore_location: {0}: No such file or directory"),
        (None, "ssl_crl_location", "ssl_crl_location: {0}: No such file or directory"),
        (JKS, "ssl_truststore_location", "ssl_truststore_location: {0}: JKS is for Java alone; convert it: " + KEYTOOL),
        (JKS, "ssl_keystore_location", "ssl_keystore_location: {0}: JKS is for Java alone; convert it: " + KEYTOOL),
        (b"", "ssl_truststore_location", "ssl_truststore_location: " + NO_CERTIFICATE),
        (SECRET, "ssl_keystore_location", "ssl_keystore_location: " + NO_CERTIFICATE),
        (ROOT_PEM, "ssl_crl_location", "ssl_crl_location: {0}: " + NO_LIST),
        (DAMAGED.format("X509 CRL"), "ssl_crl_location", "ssl_crl_location: a list in it is damaged"),
        (
            b"\x30\x82" + SECRET.encode(),
            "ssl_keystore_location",
            "ssl_keystore_location: {0}: is neither PEM nor PKCS12",
        ),
        (
            DAMAGED.format("CERTIFICATE"),
            "ssl_truststore_location",
            "ssl_truststore_location: a certificate in it is damaged",
        ),
        (
            DAMAGED.format("CERTIFICATE").replace("QUJD", "QUJÜ"),
            "ssl_truststore_location",
            "ssl_truststore_location: a certificate in it is damaged",
        ),
        (CLIENT.chain_pem(), "ssl_keystore_location", "ssl_keystore_location: " + NO_KEY),
        (
            CLIENT.chain_pem() + SERVER.key_pem(),
            "ssl_keystore_location",
            "ssl_keystore_location: the private key does not belong to the first certificate of the chain",
        ),
        (
            CLIENT.chain_pem() + DAMAGED.format("PRIVATE KEY"),
            "ssl_keystore_location",
            "ssl_keystore_location: the private key or a certificate is damaged",
        ),
        (
            CLIENT.chain_pem() + CLIENT.key_pem(SECRET),
            "ssl_keystore_location",
            "ssl_key_password: must be set, the key of ssl_keystore_location is encrypted",
        ),
        (
            CLIENT.chain_pem() + TRADITIONAL,
            "ssl_keystore_location",
            "ssl_key_password: must be set, the key of ssl_keystore_location is encrypted",
        ),
        (
            CLIENT.pkcs12(SECRET),
            "ssl_keystore_location",
            "ssl_keystore_password: {0}: must be set for this file",
        ),
        (
            truststore(ROOT.chain, SECRET),
            "ssl_truststore_location",
            "ssl_truststore_password: {0}: must be set for this file",
        ),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, content: bytes | str | None, given: str, problem: str) -> None:
    """One line names the setting and the fault, without the content of the file."""
    path = tmp_path / "store"
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ConfigError) as caught:
        context(tls_settings(**{given: str(path)}))
    assert caught.value.problems == (problem.format(path),)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            {"ssl_keystore_location": CLIENT.pkcs12(SECRET), "ssl_keystore_password": "guess"},
            "ssl_keystore_password: {0}: is not the password of this file, or the file is damaged",
        ),
        (
            {"ssl_truststore_location": truststore(ROOT.chain, SECRET), "ssl_truststore_password": "guess"},
            "ssl_truststore_password: {0}: is not the password of this file, or the file is damaged",
        ),
        (
            {"ssl_keystore_location": truststore(ROOT.chain, SECRET), "ssl_keystore_password": SECRET},
            "ssl_keystore_location: {0}: holds no private key with its certificate",
        ),
        (
            {**CHAIN, "ssl_keystore_key": CLIENT.key_pem(SECRET), "ssl_key_password": "guess"},
            "ssl_key_password: does not open the private key of ssl_keystore_key, or the key is damaged",
        ),
        (
            {**CHAIN, "ssl_keystore_key": CLIENT.key_pem(SECRET), "ssl_key_password": "x" * 2_000},
            "ssl_key_password: does not open the private key of ssl_keystore_key, or the key is damaged",
        ),
        (
            {**CHAIN, "ssl_keystore_key": CLIENT.key_pem(SECRET), "ssl_key_password": ""},
            "ssl_key_password: must be set, the key of ssl_keystore_key is encrypted",
        ),
        ({**CHAIN, "ssl_keystore_key": SECRET}, "ssl_keystore_key: " + NO_KEY),
        (
            {**CHAIN, "ssl_keystore_key": "env:LAGOON_TEST_NOT_SET"},
            "env:LAGOON_TEST_NOT_SET: this environment variable is not set where it is needed",
        ),
        ({"ssl_truststore_certificates": SECRET}, "ssl_truststore_certificates: " + NO_CERTIFICATE),
        (
            {
                "ssl_truststore_location": truststore(ROOT.chain, SECRET),
                "ssl_truststore_password": "env:LAGOON_TEST_LATIN",
            },
            "env:LAGOON_TEST_LATIN: not text in UTF-8",
        ),
        ({"ssl_truststore_location": "a\0b"}, "ssl_truststore_location: is not a path: it contains NUL"),
    ],
)
def test_settings_that_cannot_be_used(
    file: Callable[[bytes | str], str], given: dict[str, str | bytes], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The setting of a wrong password or text is named, and neither passwords nor keys are shown."""
    monkeypatch.setitem(os.environb, b"LAGOON_TEST_LATIN", b"\xfc")
    paths = {name: file(value) for name, value in given.items() if isinstance(value, bytes)}
    with pytest.raises(ConfigError) as caught:
        context(tls_settings(**given | paths))
    assert caught.value.problems == (problem.format(*paths.values()),)
    for secret in (SECRET, "guess", *KEY_LINES):
        assert secret not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "converted"), [("store", "store.p12"), ("store.jks", "store.p12"), ("store.p12", "store.p12.p12")]
)
def test_a_converted_store_is_another_file_in_the_same_folder(tmp_path: Path, name: str, converted: str) -> None:
    """A dot in a folder's name is no suffix, and keytool never overwrites its source."""
    folder = tmp_path / "kafka.d"
    folder.mkdir()
    (folder / name).write_bytes(JKS)
    with pytest.raises(ConfigError) as caught:
        context(tls_settings(ssl_truststore_location=str(folder / name)))
    assert f"-srckeystore {folder / name} -srcstoretype JKS -destkeystore {folder / converted} " in str(caught.value)


def test_blocks_in_any_text() -> None:
    """A block ends at the first end of its kind; what has no end, or lies within another block, is none."""
    text = "x-----END A-----a-----BEGIN A-----\nb-----BEGIN B-----c-----END A-----d-----BEGIN B-----e-----END B-----"
    assert [kind for kind, _ in keystores._blocks(text)] == ["A", "B"]
    assert next(keystores._blocks("-----BEGIN A-----a b-----END A-----"))[1].splitlines()[1] == "ab"


def test_blocks_without_an_end() -> None:
    """Ten thousand of them take no second: each was looked for up to the end of the file."""
    started = time.process_time()
    assert list(keystores._blocks("-----BEGIN CERTIFICATE-----" * 10_000)) == []
    assert time.process_time() - started < 1
