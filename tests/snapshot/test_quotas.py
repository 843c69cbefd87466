"""Rows of client quotas, from messages made by hand."""

from kafka_lagoon.snapshot.quotas import quota_rows
from kafka_lagoon.tables.security_rows import QuotaRow
from tests.security_samples import quotas


def test_every_limit_of_an_entity_is_a_row() -> None:
    """A null name means the default; a part that the entity lacks is null."""
    entries = [
        quotas({"user": "b", "client-id": None}, producer_byte_rate=1.5, consumer_byte_rate=2.0),
        quotas({"ip": None}, connection_creation_rate=3.0),
        quotas({"user": None}, request_percentage=4.0),
    ]
    assert list(quota_rows(entries)) == [
        QuotaRow(user=None, client_id=None, ip="<default>", name="connection_creation_rate", value=3.0),
        QuotaRow(user="<default>", client_id=None, ip=None, name="request_percentage", value=4.0),
        QuotaRow(user="b", client_id="<default>", ip=None, name="consumer_byte_rate", value=2.0),
        QuotaRow(user="b", client_id="<default>", ip=None, name="producer_byte_rate", value=1.5),
    ]
