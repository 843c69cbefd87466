"""Makes the ACLs that grant permissions, with the commands of Kafka's kafka-acls.sh that create them.

A permission names an operation and a type of resources; ACLs also name a principal and the resources: all, some, or a prefix.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafka_lagoon.admin.acls import Acl
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol import acls

ANY_HOST = "*"
_GROUP_CONFIGS = {acls.DESCRIBE_CONFIGS, acls.ALTER_CONFIGS}
_OPTIONS: Mapping[int, str] = {
    acls.TOPIC: "--topic",
    acls.GROUP: "--group",
    acls.CLUSTER: "--cluster",
    acls.TRANSACTIONAL_ID: "--transactional-id",
    acls.DELEGATION_TOKEN: "--delegation-token",
    acls.USER: "--user-principal",
}


@frozen
class Grant:
    """Operations that a principal gets on resources of a type, whose names all have one pattern type."""

    principal: str
    resource_type: int
    pattern_type: int
    names: tuple[str, ...]
    operations: tuple[int, ...]

    @property
    def is_about_group_configs(self) -> bool:
        """True for operations that Kafka's tool knows from 4.0 on, where groups have configs."""
        return self.resource_type == acls.GROUP and _GROUP_CONFIGS.issuperset(self.operations)

    def acls(self) -> Iterator[Acl]:
        """The ACLs, one for each name and operation."""
        for name in self.names:
            for operation in self.operations:
                yield Acl(self.resource_type, name, self.pattern_type, self.principal, ANY_HOST, operation, acls.ALLOW)

    def command(self, *options: str) -> str:
        """The command that creates the ACLs, for a shell; `options` say how kafka-acls.sh connects."""
        words = ["kafka-acls.sh", *options, "--add", "--allow-principal", self.principal]
        for operation in self.operations:
            words += ["--operation", "".join(word.title() for word in acls.OPERATIONS[operation].split("_"))]
        option = _OPTIONS[self.resource_type]
        words += [option] if self.resource_type == acls.CLUSTER else [w for name in self.names for w in (option, name)]
        if self.pattern_type == acls.PREFIXED:
            words += ["--resource-pattern-type", "prefixed"]
        return shlex.join(words)


def grants(
    principal: str, permissions: Iterable[Permission], names: Mapping[int, Sequence[str]] | None = None
) -> list[Grant]:
    """The ACLs that give a principal permissions, on names by type of resource; a name that ends in * is a prefix, * is all.

    Types without names mean all resources. What another operation implies is left out. Operations on configs of groups are
    apart from others on groups: kafka-acls.sh before 4.0 refuses the whole command that has one.
    """
    operations: dict[tuple[int, bool], set[int]] = {}
    for permission in permissions:
        resource_type, operation = permission.resource_type, permission.operation
        is_apart = resource_type == acls.GROUP and operation in _GROUP_CONFIGS
        operations.setdefault((resource_type, is_apart), set()).add(operation)
    return [
        Grant(
            principal=principal,
            resource_type=resource_type,
            pattern_type=pattern_type,
            names=of_pattern,
            operations=tuple(sorted(one for one in wanted if not acls.IMPLIED_BY.get(one, frozenset()) & wanted)),
        )
        for (resource_type, _), wanted in sorted(operations.items())
        for pattern_type, of_pattern in _patterns(resource_type, names or {})
    ]


def _patterns(resource_type: int, names: Mapping[int, Sequence[str]]) -> Iterator[tuple[int, tuple[str, ...]]]:
    if resource_type == acls.CLUSTER:
        yield acls.LITERAL, (acls.CLUSTER_NAME,)
        return
    given = dict.fromkeys(names.get(resource_type) or (acls.WILDCARD,))
    prefixes = tuple(name[:-1] for name in given if name.endswith("*") and name != acls.WILDCARD)
    literal = tuple(name for name in given if name == acls.WILDCARD or not name.endswith("*"))
    yield from ((kind, chosen) for kind, chosen in ((acls.LITERAL, literal), (acls.PREFIXED, prefixes)) if chosen)
