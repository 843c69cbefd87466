"""Quotas, SCRAM users and delegation tokens as brokers answer them, for tests of requests and of rows."""

from kafka_lagoon.protocol.messages.describe_client_quotas import ClientQuotaEntity, ClientQuotas, ClientQuotaValue
from kafka_lagoon.protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
)
from kafka_lagoon.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsResult,
    ScramCredentialInfo,
)

SECRET = b"hmac-that-nobody-keeps"


def quotas(parts: dict[str, str | None], **values: float) -> ClientQuotas:
    """Make an entity with limits; a part that is None is the default."""
    return ClientQuotas(
        entity=tuple(ClientQuotaEntity(entity_type=kind, entity_name=name) for kind, name in parts.items()),
        values=tuple(ClientQuotaValue(key=key, value=value) for key, value in values.items()),
    )


def scram_user(user: str, *mechanisms: int, error_code: int = 0) -> DescribeUserScramCredentialsResult:
    """Make a user with a credential for each mechanism."""
    infos = tuple(ScramCredentialInfo(mechanism=one, iterations=4096 * one) for one in mechanisms)
    return DescribeUserScramCredentialsResult(user=user, error_code=error_code, credential_infos=infos)


def token(token_id: str, requester: str = "") -> DescribedDelegationToken:
    """Make a token of alice; without a requester it is that of a broker before Kafka 3.3."""
    renewers = tuple(
        DescribedDelegationTokenRenewer(principal_type="User", principal_name=name) for name in ("carol", "bob")
    )
    return DescribedDelegationToken(
        principal_type="User",
        principal_name="alice",
        token_requester_principal_type="User" if requester else "",
        token_requester_principal_name=requester,
        issue_timestamp=1_000,
        expiry_timestamp=2_000,
        max_timestamp=3_000,
        token_id=token_id,
        hmac=SECRET,
        renewers=renewers,
    )
