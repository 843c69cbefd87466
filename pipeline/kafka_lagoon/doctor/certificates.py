"""Checks until when certificates are valid: those of brokers, and the client's own."""

import ssl
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kafka_lagoon.client.keystores import own
from kafka_lagoon.client.tls_faults import title
from kafka_lagoon.doctor.results import Check, Result
from kafka_lagoon.kafka_settings import KafkaSettings

SOON_DAYS = 30
_DAY_MS = 86_400_000


def of_broker(check: Check, chain: Sequence[Mapping[str, Any]], now_ms: int) -> Iterator[Result]:
    """When the first certificate of a verified chain expires, as `ssl` describes them."""
    ends = [
        (ssl.cert_time_to_seconds(one["notAfter"]) * 1000, title(one, "subject"))
        for one in chain
        if one.get("notAfter")
    ]
    if ends:
        yield _valid_until(check, *min(ends), now_ms, "renew it at the broker")


def of_client(name: str, kafka: KafkaSettings, now_ms: int) -> Iterator[Result]:
    """When the client's own certificate expires; ConfigError if it cannot be read."""
    pair = own(kafka)
    if pair is None:
        return
    from cryptography import x509  # noqa: PLC0415  as in keystores

    check = Check("certificate", f"{name}: {pair.origin}")
    for certificate in x509.load_pem_x509_certificates(pair.chain.encode())[:1]:
        ends_ms = certificate.not_valid_after_utc.timestamp() * 1000
        yield _valid_until(check, ends_ms, f"'{certificate.subject.rfc4514_string()}'", now_ms, "renew it")


def _valid_until(check: Check, ends_ms: float, subject: str, now_ms: int, to_do: str) -> Result:
    day = datetime.fromtimestamp(ends_ms / 1000, UTC).date()
    days = int((ends_ms - now_ms) // _DAY_MS)
    if ends_ms <= now_ms:
        return check.failed(f"{subject} expired on {day}", to_do)
    observed = f"{subject} is valid until {day}, {days} days"
    return check.warning(observed, f"{to_do} before then") if days < SOON_DAYS else check.ok(observed)
