"""The TLS context of a cluster: properties of every connection, with any settings."""

import ssl
import tempfile
from pathlib import Path

import pytest
from pydantic import ValidationError

from kafka_lagoon.client.tls import context
from kafka_lagoon.kafka_settings import from_properties
from tests.certificates import CLIENT, tls_settings


def test_what_every_context_insists_on() -> None:
    """TLS 1.2 at least, and a certificate that is verified, with the host's name unless that is disabled."""
    made = context(tls_settings())
    assert made.minimum_version is ssl.TLSVersion.TLSv1_2
    assert made.verify_mode is ssl.CERT_REQUIRED
    assert made.check_hostname
    unchecked = context(tls_settings(ssl_endpoint_identification_algorithm=""))
    assert unchecked.verify_mode is ssl.CERT_REQUIRED
    assert not unchecked.check_hostname


@pytest.mark.parametrize(
    ("enabled", "lowest", "highest"),
    [("TLSv1.3", "TLSv1_3", "TLSv1_3"), ("TLSv1.2", "TLSv1_2", "TLSv1_2"), ("TLSv1.3, TLSv1.2", "TLSv1_2", "TLSv1_3")],
)
def test_enabled_protocols(enabled: str, lowest: str, highest: str) -> None:
    """`ssl.enabled.protocols` of a Java client is applied."""
    properties = {"ssl.enabled.protocols": enabled}
    values, faults = from_properties(properties)
    made = context(tls_settings(**values))
    assert faults == []
    assert (made.minimum_version, made.maximum_version) == (ssl.TLSVersion[lowest], ssl.TLSVersion[highest])


@pytest.mark.parametrize("enabled", ["TLSv1.1,TLSv1.2", "", "SSLv3", "TLSv1.2,"])
def test_protocols_that_are_not_spoken(enabled: str) -> None:
    """They are a fault of the settings."""
    with pytest.raises(ValidationError, match=r"only TLSv1\.2 and TLSv1\.3 are spoken"):
        tls_settings(ssl_enabled_protocols=enabled)


def test_trust_without_a_truststore() -> None:
    """Without a truststore the machine's CAs are trusted; with a truststore only its CAs."""
    assert context(tls_settings()).cert_store_stats()["x509"] == 1
    machine = context(tls_settings(ssl_truststore_certificates=None)).cert_store_stats()
    assert machine == ssl.create_default_context().cert_store_stats()


def test_keys_leave_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """OpenSSL reads the key from a file without a name."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[list[Path]] = []
    load = ssl.SSLContext.load_cert_chain

    def spy(self: ssl.SSLContext, chain: str, key: str, password: str) -> None:
        seen.append(list(tmp_path.iterdir()))
        assert "PRIVATE KEY" in Path(key).read_text()
        assert str(Path(key).readlink()).startswith("/memfd:")  # in memory, never on a disk
        load(self, chain, key, password)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", spy)
    context(tls_settings(ssl_keystore_certificate_chain=CLIENT.chain_pem(), ssl_keystore_key=CLIENT.key_pem()))
    assert seen == [[]]
    assert list(tmp_path.iterdir()) == []
