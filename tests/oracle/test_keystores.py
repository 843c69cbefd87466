"""Keystores that Java writes and reads, and the answer of Java's TLS to a client without TLS."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from kafka_lagoon.client import keystores
from kafka_lagoon.errors import FrameTooLarge
from kafka_lagoon.sandbox.certificates import truststore
from kafka_lagoon.wire.frames import FrameBuffer
from tests.certificates import CLIENT, ROOT, ROOT_PEM, tls_settings
from tests.oracle.java_codec import JavaCodec

pytestmark = pytest.mark.java

PASSWORD = "open sesame"  # noqa: S105  of files that live for one test


def characters(jvm: Any) -> Any:
    """Convert a password to Java's array of characters."""
    return jvm.java.nio.CharBuffer.allocate(len(PASSWORD)).put(PASSWORD).array()


def java_store(jvm: Any, *, path: Path | None = None) -> Any:
    """Make a PKCS12 keystore of Java, empty or from a file."""
    store = jvm.java.security.KeyStore.getInstance("PKCS12")
    stream = jvm.java.io.FileInputStream(str(path)) if path else None
    store.load(stream, characters(jvm))
    return store


def java_certificate(jvm: Any, text: str) -> Any:
    """Make a certificate object of Java."""
    stream = jvm.java.io.ByteArrayInputStream(bytearray(text.encode()))
    return jvm.java.security.cert.CertificateFactory.getInstance("X.509").generateCertificate(stream)


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"keystore.pkcs12.legacy": ""},
        {"keystore.pkcs12.certProtectionAlgorithm": "NONE", "keystore.pkcs12.macAlgorithm": "NONE"},
    ],
)
def test_truststores_of_java(codecs: Sequence[JavaCodec], tmp_path: Path, properties: dict[str, str]) -> None:
    """Stores of current Java, of Java before 2020, and without encryption are read."""
    jvm = codecs[0].jvm
    for name, value in properties.items():
        jvm.java.lang.System.setProperty(name, value)
    try:
        store = java_store(jvm)
        store.setCertificateEntry("root", java_certificate(jvm, ROOT_PEM))
        stream = jvm.java.io.FileOutputStream(str(tmp_path / "store"))
        store.store(stream, characters(jvm))
        stream.close()
    finally:
        for name in properties:
            jvm.java.lang.System.clearProperty(name)
    truststore = {"ssl_truststore_location": str(tmp_path / "store"), "ssl_truststore_password": PASSWORD}
    assert keystores.trusted(tls_settings(**truststore)) == ROOT_PEM


def test_stores_for_java(codecs: Sequence[JavaCodec], tmp_path: Path) -> None:
    """Java trusts the certificates in our truststores, and finds key and whole chain in our keystores."""
    jvm = codecs[0].jvm
    (tmp_path / "trust").write_bytes(truststore(ROOT.chain, PASSWORD))
    (tmp_path / "key").write_bytes(CLIENT.pkcs12(PASSWORD))
    trust, key = java_store(jvm, path=tmp_path / "trust"), java_store(jvm, path=tmp_path / "key")
    assert trust.isCertificateEntry("0")
    assert key.isKeyEntry("key")
    assert len(key.getCertificateChain("key")) == len(CLIENT.chain) == 3


def test_plain_kafka_to_a_tls_listener(codecs: Sequence[JavaCodec]) -> None:
    """The answer of Java's TLS to an unencrypted request is recognized as TLS."""
    jvm = codecs[0].jvm
    engine = jvm.javax.net.ssl.SSLContext.getDefault().createSSLEngine()
    engine.setUseClientMode(False)
    request = b"\0\0\0\x20\0\x12\0\x03\0\0\0\0" + bytes(24)
    out = jvm.java.nio.ByteBuffer.allocate(1 << 16)
    with pytest.raises(Py4JJavaError, match="SSLException"):
        engine.unwrap(codecs[0].buffer_of(request), out)
    engine.wrap(jvm.java.nio.ByteBuffer.allocate(0), out)
    frames = FrameBuffer(1 << 20)
    frames.feed(bytes(out.array())[: out.position()])
    with pytest.raises(FrameTooLarge, match="the answer is TLS, not Kafka"):
        frames.take()
