"""Checks permissions that brokers do not state (KIP-430): DESCRIBE on transactional ids and on delegation tokens.

A description of a transactional id that nobody uses is refused, or the id is not found. Delegation tokens of others are left
out without an error, so only ACLs tell whether we may see them. Nothing is created by either.
"""

from collections.abc import Collection

from kafka_lagoon.admin.acls import Acl, AclFilter, acls_of, describe_acls
from kafka_lagoon.admin.delegation_tokens import describe_delegation_tokens
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import UnsupportedVersion
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.error_codes import DELEGATION_TOKEN_AUTH_DISABLED, TRANSACTIONAL_ID_AUTHORIZATION_FAILED
from kafka_lagoon.protocol.messages.describe_transactions import DESCRIBE_TRANSACTIONS, DescribeTransactionsRequest
from kafka_lagoon.snapshot.acl_rows import acl_rows
from kafka_lagoon.snapshot.acl_visibility import Permissions, types_shown

_NOBODYS_ID = "lagoon-doctor"  # an id without a transaction: its description is refused or not found

Known = tuple[bool | None, str]  # whether it is allowed (None: not known), and the observation


def on_transactional_ids(cluster: Cluster, deadline: Deadline) -> Known:
    """Check that every transactional id may be described."""
    request = DescribeTransactionsRequest(transactional_ids=(_NOBODYS_ID,))
    try:
        (described,) = cluster.ask_any(DESCRIBE_TRANSACTIONS, request, deadline).transaction_states
    except UnsupportedVersion:
        return None, "brokers before 3.0 do not describe transactions"
    if described.error_code == TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return False, "not allowed on all transactional ids"
    return True, f"allowed on a transactional id that nobody uses ({_NOBODYS_ID})"


def on_delegation_tokens(cluster: Cluster, of_cluster: int, deadline: Deadline) -> Known:
    """True if the delegation tokens of all owners are visible; `of_cluster` are our operations on the cluster."""
    tokens = describe_delegation_tokens(cluster, deadline)
    if isinstance(tokens, Failure):
        if tokens.code == DELEGATION_TOKEN_AUTH_DISABLED:
            return True, "the brokers have no delegation tokens"
        return None, f"delegation tokens cannot be described: {tokens.name}"
    answer = describe_acls(cluster, AclFilter(permission=acls.ANY), deadline)
    if isinstance(answer, Failure):
        return None, f"only ACLs tell it, and they cannot be described: {answer.name}"
    principal = cluster.settings.principal()
    ours = [acl for acl in acls_of(answer) if acl.principal in (principal, acls.EVERYBODY)]
    on_tokens = [acl for acl in ours if acl.resource_type == acls.DELEGATION_TOKEN and _is_for_all(acl)]
    if any(acl.permission == acls.DENY and acl.operation in (acls.DESCRIBE, acls.ALL) for acl in on_tokens):
        return False, f"an ACL denies it to {principal or acls.EVERYBODY}"
    if _are_allowed(on_tokens, acls.implying(acls.DESCRIBE)):
        return True, "an ACL allows it on all delegation tokens"
    if principal is None:
        return None, "which ACLs are ours is not known: settings do not name the principal of this connection"
    known = Permissions(
        principal=principal, operations=of_cluster, topics=cluster.topics.names(), acls=list(acl_rows(answer))
    )
    if types_shown(known, [acls.DELEGATION_TOKEN]):
        return True, f"{principal} may do more than its ACLs allow, as super users may"
    return False, f"no ACL allows it to {principal} on all delegation tokens"


def _is_for_all(acl: Acl) -> bool:
    return acl.pattern_type == acls.LITERAL and acl.resource_name == acls.WILDCARD


def _are_allowed(some: Collection[Acl], operations: Collection[int]) -> bool:
    return any(acl.permission == acls.ALLOW and acl.operation in operations for acl in some)
