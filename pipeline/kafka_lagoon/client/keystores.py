"""Reads certificates and keys from truststores and keystores, and returns them as PEM.

An error is one line that names the setting and the remedy, and shows nothing of the content.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.secret import Secret

_JAVA_STORES = {b"\xfe\xed\xfe\xed": "JKS", b"\xce\xce\xce\xce": "JCEKS"}
_PKCS12 = b"\x30"  # a DER sequence
_DASHES = "-----"
_MARKER = re.compile(rf"{_DASHES}(BEGIN|END) ([A-Z0-9 ]+){_DASHES}")
_LINE = re.compile(r".{1,64}")
_CERTIFICATE = "CERTIFICATE"
_KEY = "PRIVATE KEY"
_REVOKED = "X509 CRL"


@frozen
class KeyPair:
    """The client's certificate chain, its own certificate first, and the private key, as PEM. `origin` names the setting."""

    origin: str
    chain: str
    key: str = field(repr=False)
    password: str | None = field(repr=False)


@frozen(kw_only=False)
class _Store:
    """A file that was read; `settings` is what the names of its settings begin with."""

    settings: str
    path: str
    content: bytes

    def fault(self, problem: str, setting: str = "location") -> ConfigError:
        return ConfigError([f"{self.settings}_{setting}: {self.path}: {problem}"])


def trusted(settings: KafkaSettings) -> str | None:
    """The certificates to trust, as PEM; None when the settings name none. ConfigError when they cannot be read."""
    if settings.ssl_truststore_certificates:
        origin, text = "ssl_truststore_certificates", settings.ssl_truststore_certificates
    elif settings.ssl_truststore_location:
        origin = "ssl_truststore_location"
        store = _read("ssl_truststore", settings.ssl_truststore_location)
        text = _trusted_in(store, settings.ssl_truststore_password)
    else:
        return None
    return _certificates(text, origin)


def own(settings: KafkaSettings) -> KeyPair | None:
    """The client's certificate and key; None when the settings name none. ConfigError when they cannot be read."""
    store = _read("ssl_keystore", settings.ssl_keystore_location) if settings.ssl_keystore_location else None
    if store and _is_pkcs12(store):
        return _own_in(store, settings.ssl_keystore_password)
    text = store.content.decode("latin-1") if store else settings.ssl_keystore_certificate_chain
    if not text:
        return None
    origin = "ssl_keystore_location" if store else "ssl_keystore_certificate_chain"
    chain = _certificates(text, origin)
    if settings.ssl_keystore_key:
        origin, text = "ssl_keystore_key", settings.ssl_keystore_key.reveal()
    key, password = _key(text, origin, settings.ssl_key_password)
    return KeyPair(origin=origin, chain=chain, key=key, password=password)


def revoked(settings: KafkaSettings) -> str | None:
    """The lists of revoked certificates, as PEM; None when the settings name none. ConfigError if the file has no list."""
    if not settings.ssl_crl_location:
        return None
    store = _read("ssl_crl", settings.ssl_crl_location)
    lists = [block for kind, block in _blocks(store.content.decode("latin-1")) if kind == _REVOKED]
    if not lists:
        raise store.fault("holds no list of revoked certificates (-----BEGIN X509 CRL-----)")
    return "".join(lists)


def _read(settings: str, path: str) -> _Store:
    try:
        return _Store(settings, path, Path(path).read_bytes())
    except OSError as error:
        raise ConfigError([f"{settings}_location: {path}: {error.strerror}"]) from error
    except ValueError as error:
        raise ConfigError([f"{settings}_location: is not a path: it contains NUL"]) from error


def _is_pkcs12(store: _Store) -> bool:
    """True if it is PKCS12 rather than PEM. The bytes decide, as they do in Java: files often have the wrong ending."""
    if kind := _JAVA_STORES.get(store.content[:4]):
        path = Path(store.path)
        converted = path.with_name(f"{path.name if path.suffix == '.p12' else path.stem}.p12")
        raise store.fault(
            f"{kind} is for Java alone; convert it: keytool -importkeystore -srckeystore {store.path} "
            f"-srcstoretype {kind} -destkeystore {converted} -deststoretype PKCS12"
        )
    return store.content[:1] == _PKCS12


def _trusted_in(store: _Store, password: Secret | None) -> str:
    if not _is_pkcs12(store):
        return store.content.decode("latin-1")
    opened = _open(store, password)
    entries = [opened.cert] if opened.cert else []
    return _pem([one.certificate for one in [*entries, *opened.additional_certs]])


def _own_in(store: _Store, password: Secret | None) -> KeyPair:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat  # noqa: PLC0415

    opened = _open(store, password)
    if opened.key is None or opened.cert is None:
        raise store.fault("holds no private key with its certificate")
    chain = _chain(opened.cert.certificate, [one.certificate for one in opened.additional_certs])
    key = opened.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return KeyPair(origin=f"{store.settings}_location", chain=_pem(chain), key=key, password=None)


def _open(store: _Store, password: Secret | None) -> Any:
    """The content of a PKCS12 file. The library is imported only here: that takes 0.1 s, and PEM does not need it."""
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12  # noqa: PLC0415

    try:
        return load_pkcs12(store.content, password.reveal().encode() if password else None)
    except ValueError as error:
        if "password" not in str(error):
            raise store.fault("is neither PEM nor PKCS12") from None
        problem = (
            "is not the password of this file, or the file is damaged" if password else "must be set for this file"
        )
        raise store.fault(problem, "password") from None


def _pem(certificates: Sequence[Any]) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415

    return "".join(one.public_bytes(Encoding.PEM).decode() for one in certificates)


def _chain(first: Any, others: Sequence[Any]) -> list[Any]:
    """The certificates in the order in which each is signed by the next; files have them in any order."""
    chain, left = [first], list(others)
    while following := next((one for one in left if one.subject == chain[-1].issuer), None):
        chain.append(following)
        left.remove(following)
    return chain


def _certificates(text: str, origin: str) -> str:
    certificates = [block for kind, block in _blocks(text) if kind == _CERTIFICATE]
    if not certificates:
        raise ConfigError([f"{origin}: holds no certificate (-----BEGIN CERTIFICATE-----)"])
    return "".join(certificates)


def _key(text: str, origin: str, password: Secret | None) -> tuple[str, str | None]:
    """The private key among the blocks of a text, and the password that it needs, None for one that is not encrypted."""
    keys = [(kind, block) for kind, block in _blocks(text) if kind.endswith(_KEY)]
    if not keys:
        raise ConfigError([f"{origin}: holds no private key (-----BEGIN PRIVATE KEY-----)"])
    kind, block = keys[0]
    is_encrypted = kind.startswith("ENCRYPTED") or "ENCRYPTED" in block.partition("\n\n")[0]
    if is_encrypted and not password:
        raise ConfigError([f"ssl_key_password: must be set, the key of {origin} is encrypted"])
    return block, password.reveal() if is_encrypted and password else None


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Every PEM block with its kind, in lines as OpenSSL wants them: KIP-651 allows a whole block on one line."""
    text = text.replace("\\n", "\n")
    for start, kind, stop in _borders(text):
        body = text[start + len(f"{_DASHES}BEGIN {kind}{_DASHES}") : stop - len(f"{_DASHES}END {kind}{_DASHES}")]
        if ":" in body:  # an encrypted key of the traditional kind, with headers
            yield kind, text[start:stop] + "\n"
        else:
            lines = "\n".join(_LINE.findall("".join(body.split())))
            yield kind, f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----\n"


def _borders(text: str) -> Iterator[tuple[int, str, int]]:
    """The begin and kind of each block, and the end of the first end marker of its kind, in time linear in the text."""
    ends: dict[str, int] = {}
    blocks = []
    for marker in reversed(list(_MARKER.finditer(text))):
        word, kind = marker[1], marker[2]
        if word == "END":
            ends[kind] = marker.end()
        elif kind in ends:
            blocks.append((marker.start(), kind, ends[kind]))
    done = 0
    for start, kind, stop in reversed(blocks):
        if start >= done:
            yield start, kind, stop
            done = stop
