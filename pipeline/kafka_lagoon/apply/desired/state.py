"""Holds the desired state of a cluster: the resources that it must have, those that the file owns, and one-time actions."""

from collections.abc import Mapping, Sequence

from kafka_lagoon.apply.desired.document import Document, Path
from kafka_lagoon.apply.desired.model import Credential, DesiredTopic, OneOff, Ownership
from kafka_lagoon.apply.desired.resources import Acl, ScramUser
from kafka_lagoon.frozen import frozen


@frozen
class DesiredState:
    """The content of a file. Without patterns in `owns` nothing is ever deleted or unset."""

    cluster_id: str
    owns: Ownership
    topics: Mapping[str, DesiredTopic]
    configs: Mapping[str, Mapping[str, Mapping[str, str]]]  # by resource type and name
    acls: Mapping[Acl, Path]
    quotas: Mapping[str, Mapping[str, float]]  # by the entity as a plan names it
    quota_paths: Mapping[str, Path]
    scram_users: Mapping[ScramUser, Credential]
    features: Mapping[str, int]
    actions: Sequence[OneOff]
    document: Document

    def fault(self, path: Path, reason: str) -> str:
        """A message about a faulty value."""
        return self.document.fault(path, reason)
