"""Expiry of certificates: the first of a broker's chain to expire, and the client's own."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka_lagoon.doctor.certificates import of_broker, of_client
from kafka_lagoon.doctor.results import Check
from kafka_lagoon.kafka_settings import checked
from kafka_lagoon.sandbox.certificates import authority, issue

NOW = datetime(2026, 11, 22, tzinfo=UTC)
NOW_MS = round(NOW.timestamp() * 1000)
CHECK = Check("certificate", "broker 1")


@pytest.mark.parametrize(("days", "status"), [(-1, "failed"), (0.5, "warning"), (29.9, "warning"), (31, "ok")])
def test_the_first_of_a_chain_to_expire(days: float, status: str) -> None:
    """This may also be the certificate of the CA."""
    ends = (NOW + timedelta(days=days)).strftime("%b %d %H:%M:%S %Y GMT")
    names = {"subject": ((("commonName", "CA\x1b[2J"),),), "notAfter": ends}
    (result,) = of_broker(CHECK, [{"subject": (), "notAfter": "Nov 22 00:00:00 2036 GMT"}, names], NOW_MS)
    assert result.status == status
    assert result.observed.startswith("'CA\\u001b[2J'")
    assert not list(of_broker(CHECK, [{}], NOW_MS))


def test_the_clients_own(tmp_path: Path) -> None:
    """It is read as connections read it; without a certificate there is no result."""
    client = issue(authority(), "lagoon", valid_until=datetime.now(UTC) + timedelta(days=3))
    path = tmp_path / "client.pem"
    path.write_text(client.key_pem() + client.chain_pem())
    plain = {"bootstrap_servers": "localhost:9092", "security_protocol": "SSL"}
    now_ms = round(datetime.now(UTC).timestamp() * 1000)
    (result,) = of_client("default", checked(plain | {"ssl_keystore_location": str(path)}), now_ms)
    assert (result.status, result.subject) == ("warning", "default: ssl_keystore_location")
    assert "2 days" in result.observed
    assert not list(of_client("default", checked(plain), now_ms))
