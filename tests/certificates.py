"""Certificates of one test run, and TLS contexts for servers and clients."""

import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kafka_lagoon.kafka_settings import KafkaSettings, checked
from kafka_lagoon.sandbox.certificates import Certificate, authority, issue, pem

YESTERDAY = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)

ROOT = authority("root")
MIDDLE = authority("middle", ROOT)
OTHER_ROOT = authority("other root")
SERVER = issue(ROOT, "server", ["localhost", "127.0.0.1", "::1"])
CLIENT = issue(MIDDLE, "client")
BELOW = issue(MIDDLE, "below", ["127.0.0.1"])
ELSEWHERE = issue(ROOT, "elsewhere", ["elsewhere.example"])
ROOT_PEM = pem(ROOT.chain[0])


def server_context(
    certificate: Certificate = SERVER, clients_of: Certificate | None = None, **limits: ssl.TLSVersion
) -> ssl.SSLContext:
    """Make a server's context; with `clients_of` it requires certificates that this authority has signed."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    for name, version in limits.items():
        setattr(made, name, version)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "server.pem")
        path.write_text(certificate.chain_pem() + certificate.key_pem())
        made.load_cert_chain(path)
    if clients_of:
        made.verify_mode = ssl.CERT_REQUIRED
        made.load_verify_locations(cadata=pem(clients_of.chain[0]))
    return made


def tls_settings(**given: object) -> KafkaSettings:
    """Make settings with TLS that trust the root unless given otherwise."""
    trust = (
        {} if any(name.startswith("ssl_truststore") for name in given) else {"ssl_truststore_certificates": ROOT_PEM}
    )
    return checked({"bootstrap_servers": "localhost:9093", "security_protocol": "SSL", **trust, **given})
