"""Declares the rows of the state tables about permissions and users: ACLs, client quotas, SCRAM users, delegation tokens."""

from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Timestamp, before, column, row


@row
class AclRow:
    """ACLs of the cluster, one row per ACL and snapshot."""

    resource_type: str = column("TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN or USER.")
    resource_name: str = column("Name or prefix; * with LITERAL stands for every name.")
    pattern_type: str = column("LITERAL or PREFIXED.")
    principal: str = column("Principal, as type:name; User:* stands for every user.")
    host: str = column("Address of clients; * stands for every address.")
    operation: str = column("Operation as Kafka names it.")
    permission: str = column("ALLOW or DENY.")


@row
class QuotaRow:
    """Client quotas, one row per entity, limit and snapshot. An entity is a user, a client.id, both together, or an address.

    Brokers apply the limit of the most specific entity to a client.
    """

    user: str | None = column(
        "User, or <default>: all users without a quota of their own; null if the entity has no user.", null_if=ALWAYS
    )
    client_id: str | None = column(
        "client.id, or <default>: all clients without a quota of their own; null if the entity has no client.id.",
        null_if=ALWAYS,
    )
    ip: str | None = column(
        "Address of clients, or <default>: all addresses without a quota of their own; null if the entity has no address.",
        null_if=ALWAYS,
    )
    name: str = column("Name of the limit: producer_byte_rate, consumer_byte_rate, request_percentage and so on.")
    value: float = column("Value of the limit: bytes/s, percent of a thread, partition changes/s or connections/s.")


@row
class ScramUserRow:
    """Users that can log in by SCRAM, one row per user, mechanism and snapshot. Brokers return no salts and no keys."""

    user: str = column("Name of the user, without the User: of ACLs.")
    mechanism: str | None = column("SCRAM-SHA-256 or SCRAM-SHA-512; null if problem is set.")
    iterations: Int32 | None = column("Iterations of the password's hash; null if problem is set.")
    problem: str | None = column("Kafka's name of the error for this user; null if there is none.")


@row
class DelegationTokenRow:
    """Delegation tokens that the principal may describe, one row per token and snapshot. Their secrets are not stored."""

    token_id: str = column("Id of the token, which is its user name for SASL.")
    owner: str = column("Owner of the token, as type:name.")
    requester: str | None = column(
        "Principal that requested the token, as type:name; null before Kafka 3.3.",
        null_if=before("DescribeDelegationToken", 3),
    )
    renewers: tuple[str, ...] = column("Principals that may renew the token besides its owner, as type:name.")
    issued_at_ms: Timestamp | None = column(
        "Time at which the token was created; null if the broker's time is outside the years 1 to 9999.", null_if=ALWAYS
    )
    expires_at_ms: Timestamp | None = column(
        "Time at which the token expires unless it is renewed; expired tokens stay listed for a while. Null if it is outside "
        "the years 1 to 9999, as with the largest delegation.token.expiry.time.ms.",
        null_if=ALWAYS,
    )
    max_lifetime_at_ms: Timestamp | None = column(
        "Time after which the token cannot be renewed; null if it is outside the years 1 to 9999, as with the largest "
        "delegation.token.max.lifetime.ms.",
        null_if=ALWAYS,
    )
