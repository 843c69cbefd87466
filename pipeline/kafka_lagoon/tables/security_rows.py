"""Declares the rows of the state tables about permissions and users: ACLs, client quotas, SCRAM users, delegation tokens."""

from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Timestamp, before, column, row


@row
class AclRow:
    """ACLs of the cluster, one row per ACL and snapshot."""

    resource_type: str = column("TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN or USER.")
    resource_name: str = column("Name or prefix; * with LITERAL is every name.")
    pattern_type: str = column("LITERAL or PREFIXED.")
    principal: str = column("Who, as type:name; User:* is everybody.")
    host: str = column("From which address; * is every one.")
    operation: str = column("Operation as Kafka names it.")
    permission: str = column("ALLOW or DENY.")


@row
class QuotaRow:
    """Client quotas, one row per entity, limit and snapshot. An entity is a user, a client.id, both together, or an address.

    Which limit applies to a client is decided by the broker: the one of the most specific entity.
    """

    user: str | None = column(
        "User, or <default>: all users without a quota of their own; null if the entity has no user.", null_if=ALWAYS
    )
    client_id: str | None = column(
        "client.id, or <default>: all without a quota of their own; null if the entity has none.", null_if=ALWAYS
    )
    ip: str | None = column(
        "Address of clients, or <default>: all without a quota of their own; null if the entity has none.",
        null_if=ALWAYS,
    )
    name: str = column("Name of the limit: producer_byte_rate, consumer_byte_rate, request_percentage and so on.")
    value: float = column("The limit: bytes/s, percent of a thread, partition changes/s or connections/s.")


@row
class ScramUserRow:
    """Users that can log in by SCRAM, one row per user, mechanism and snapshot. Brokers return no salts and no keys."""

    user: str = column("Name of the user, without the User: of ACLs.")
    mechanism: str | None = column("SCRAM-SHA-256 or SCRAM-SHA-512; null if problem is set.")
    iterations: Int32 | None = column("How often the password was hashed; null if problem is set.")
    problem: str | None = column("Kafka's name of the error for this user; null if there is none.")


@row
class DelegationTokenRow:
    """Delegation tokens that the principal may see, one row per token and snapshot. Their secrets are not kept."""

    token_id: str = column("Id of the token, which is its user name.")
    owner: str = column("Whom it stands for, as type:name.")
    requester: str | None = column(
        "Who asked for it, as type:name; null before Kafka 3.3.", null_if=before("DescribeDelegationToken", 3)
    )
    renewers: tuple[str, ...] = column("Who may renew it besides its owner, as type:name.")
    issued_at_ms: Timestamp = column("When it was made.")
    expires_at_ms: Timestamp = column("When it expires unless it is renewed; expired ones stay listed for a while.")
    max_lifetime_at_ms: Timestamp = column("When it expires for good.")
