"""Makes the TLS context of a cluster's connections from its settings.

A certificate is always verified, up to a trusted authority. Only the check of the host name can be switched off, by Kafka's
setting.
"""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from kafka_lagoon.client import keystores
from kafka_lagoon.client.keystores import KeyPair
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.kafka_settings import KafkaSettings

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


def context(settings: KafkaSettings) -> ssl.SSLContext:
    """The context that the connections to one cluster share.

    Takes 2 ms, and up to 100 ms more for PKCS12 or for reading this machine's authorities, so keep it.
    ConfigError names the setting whose file or text cannot be used.
    """
    made = _trusting(settings)
    enabled = [_VERSIONS[name] for name in settings.tls_versions()]
    made.minimum_version, made.maximum_version = min(enabled), max(enabled)
    made.check_hostname = bool(settings.ssl_endpoint_identification_algorithm)
    if revoked := keystores.revoked(settings):
        _refuse_revoked(made, revoked)
    if pair := keystores.own(settings):
        _show(made, pair)
    return made


def _trusting(settings: KafkaSettings) -> ssl.SSLContext:
    certificates = keystores.trusted(settings)
    try:
        made = ssl.create_default_context(cadata=certificates)
    except (ssl.SSLError, TypeError) as error:  # TypeError: not ASCII
        origin = "ssl_truststore_certificates" if settings.ssl_truststore_certificates else "ssl_truststore_location"
        raise ConfigError([f"{origin}: a certificate in it is damaged"]) from error
    # As Java does, and the same on every Python: a certificate in the truststore is trusted even if it is no root, and
    # authorities that openssl or keytool made without the newer extensions are accepted.
    made.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    made.verify_flags &= ~ssl.VerifyFlags.VERIFY_X509_STRICT
    return made


def _refuse_revoked(made: ssl.SSLContext, revoked: str) -> None:
    with _file(revoked) as path:
        try:
            made.load_verify_locations(cafile=path)
        except ssl.SSLError as error:
            raise ConfigError(["ssl_crl_location: a list in it is damaged"]) from error
    made.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF


def _show(made: ssl.SSLContext, pair: KeyPair) -> None:
    """Load the client's certificate and key; without a password OpenSSL would ask for one at the terminal."""
    with _file(pair.chain) as chain, _file(pair.key) as key:
        try:
            made.load_cert_chain(chain, key, pair.password or "")
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError([_key_fault(pair, error)]) from error


def _key_fault(pair: KeyPair, error: ssl.SSLError | ValueError) -> str:
    match getattr(error, "reason", None):
        case "KEY_VALUES_MISMATCH" | "KEY_TYPE_MISMATCH":
            return f"{pair.origin}: the private key does not belong to the first certificate of the chain"
        case None if pair.password:
            return f"ssl_key_password: does not open the private key of {pair.origin}, or the key is damaged"
        case None:
            return f"{pair.origin}: the private key or a certificate is damaged"
        case reason:
            return f"{pair.origin}: {str(reason).replace('_', ' ').lower()}"


@contextmanager
def _file(text: str) -> Iterator[str]:
    """The path of a file in memory: OpenSSL takes only paths, and a key that was decrypted must not reach a disk."""
    with open(os.memfd_create("pem"), "wb") as file:  # noqa: PTH123  it has a descriptor and no path
        file.write(text.encode())
        file.flush()
        yield f"/dev/fd/{file.fileno()}"
