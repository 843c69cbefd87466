"""Finds the lists from which brokers cannot have left out resources, by a cluster's ACLs and the operations that we may do.

Kafka's authorizers allow what ACLs allow, and everything to super users. With allow.everyone.if.no.acl.found they also allow
everything on a resource without any ACL. Brokers return neither the super users nor that setting. They can be inferred from
operations that we may do although no ACL allows them: on a resource with ACLs only a super user may, and on a resource without
ACLs a super user, or everybody by that setting.
"""

from collections.abc import Collection, Iterable, Sequence

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol import acls
from kafka_lagoon.snapshot.visibility import LISTED_TYPES
from kafka_lagoon.tables.security_rows import AclRow

_LITERAL, _PREFIXED = acls.PATTERN_TYPES[acls.LITERAL], acls.PATTERN_TYPES[acls.PREFIXED]
_ALLOW, _DENY = acls.PERMISSION_TYPES[acls.ALLOW], acls.PERMISSION_TYPES[acls.DENY]
_DENYING = (acls.OPERATIONS[acls.DESCRIBE], acls.OPERATIONS[acls.ALL])
_NAMELESS = acls.RESOURCE_TYPES[acls.UNKNOWN]  # how rows name numbers of later releases


@frozen
class Permissions:
    """Evidence of the permissions of a principal, which is None if settings do not name it."""

    principal: str | None
    operations: int  # operations that are allowed on the cluster, as bits
    topics: Collection[str]  # topics that brokers describe to the principal
    acls: Sequence[AclRow]  # all ACLs of the cluster

    def on(self, resource_type: int) -> list[AclRow]:
        """The ACLs on resources of a type."""
        return [acl for acl in self.acls if acl.resource_type == acls.RESOURCE_TYPES[resource_type]]


def complete_lists(cluster: Cluster, operations: int, described: Sequence[AclRow]) -> Sequence[str]:
    """The APIs of `LISTED_TYPES` whose lists are proven to be complete by all ACLs of the cluster.

    `operations` are those that we may do on the cluster, as bits.
    """
    known = Permissions(
        principal=cluster.settings.principal(), operations=operations, topics=cluster.topics.names(), acls=described
    )
    shown = types_shown(known, frozenset(LISTED_TYPES.values()))
    return [api for api, resource_type in LISTED_TYPES.items() if resource_type in shown]


def types_shown(known: Permissions, resource_types: Iterable[int]) -> frozenset[int]:
    """The types of which every resource is proven to be described to the principal."""
    not_by_acls = _not_by_acls(known)
    is_super_user, is_open = True in not_by_acls, False in not_by_acls
    return frozenset(
        one
        for one in resource_types
        if is_super_user or _allow_all(known.on(one), known.principal) or (is_open and not known.on(one))
    )


def _words(acl: AclRow) -> tuple[str, ...]:
    return acl.resource_type, acl.pattern_type, acl.operation, acl.permission


def _not_by_acls(known: Permissions) -> set[bool]:
    """True if the principal may use a resource with ACLs that do not allow it; False for a resource without ACLs; or both.

    Empty if an ACL has numbers of a later release, because that ACL may allow any of these resources.
    """
    if any(_NAMELESS in text for acl in known.acls for text in _words(acl)):
        return set()
    have_acls = set()
    on_cluster, on_topics = known.on(acls.CLUSTER), known.on(acls.TOPIC)
    if any(
        acls.allows(known.operations, operation) and not _that_may_allow(on_cluster, operation, known.principal)
        for operation in acls.OPERATIONS
    ):
        have_acls.add(bool(on_cluster))
    of_any, of_ours = _Names.of(on_topics), _Names.of(_that_may_allow(on_topics, acls.DESCRIBE, known.principal))
    return have_acls | {of_any.match(topic) for topic in known.topics if not of_ours.match(topic)}


def _that_may_allow(some: Iterable[AclRow], operation: int, principal: str | None) -> list[AclRow]:
    """The ACLs that may allow the principal an operation: from some host, or as a member of a group."""
    names = {acls.OPERATIONS[one] for one in acls.implying(operation)}
    return [
        acl
        for acl in some
        if acl.permission == _ALLOW and acl.operation in names and not _is_of_another(acl, principal)
    ]


def _is_of_another(acl: AclRow, principal: str | None) -> bool:
    return (
        principal is not None and acl.principal.startswith("User:") and acl.principal not in (principal, acls.EVERYBODY)
    )


@frozen
class _Names:
    """The names of resources that some ACLs are about."""

    literal: frozenset[str]
    prefixes: frozenset[str]
    lengths: tuple[int, ...]  # of the prefixes

    @classmethod
    def of(cls, some: Iterable[AclRow]) -> "_Names":
        names = {(acl.pattern_type, acl.resource_name) for acl in some}
        prefixes = frozenset(name for pattern, name in names if pattern == _PREFIXED)
        return cls(
            literal=frozenset(name for pattern, name in names if pattern == _LITERAL),
            prefixes=prefixes,
            lengths=tuple(sorted({len(prefix) for prefix in prefixes})),
        )

    def match(self, name: str) -> bool:
        is_literal = acls.WILDCARD in self.literal or name in self.literal
        return is_literal or any(name[:length] in self.prefixes for length in self.lengths)


def _allow_all(of_type: Sequence[AclRow], principal: str | None) -> bool:
    """True if the ACLs on a type allow the principal to describe all resources, from every host.

    Brokers may know the principal by a group, too: so a denial counts unless it is for another user.
    """
    if principal is None or any(_may_deny(acl, principal) for acl in of_type):
        return False
    return any(
        (acl.resource_name, acl.pattern_type, acl.host) == (acls.WILDCARD, _LITERAL, acls.WILDCARD)
        and acl.principal in (principal, acls.EVERYBODY)
        for acl in _that_may_allow(of_type, acls.DESCRIBE, principal)
    )


def _may_deny(acl: AclRow, principal: str) -> bool:
    return acl.permission == _DENY and acl.operation in _DENYING and not _is_of_another(acl, principal)
