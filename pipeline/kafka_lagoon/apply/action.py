"""Declares what an alteration of a cluster is: an action, and kinds of actions with the functions that read and send them.

`lagoon apply`, `lagoon admin` and `lagoon restore` alter clusters through actions alone, so every alteration is planned,
guarded and recorded in the same way.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.secret import Secret

# State of a resource, live or wanted: JSON values, none of them secret. None: it does not exist.
State = Mapping[str, Any] | None


class Guard(StrEnum):
    """A danger that an action may have only if the option of this name allows it."""

    DELETIONS = "allow-deletions"
    UNCLEAN_ELECTIONS = "allow-unclean-elections"
    SHRINKING_RETENTION = "allow-shrinking-retention"
    RECORD_DELETION = "allow-record-deletion"
    INTERNAL_TOPICS = "allow-internal"
    MANY_PARTITIONS = "allow-many-partitions"


class Resource(NamedTuple):
    """The resource that an action alters: a type (`topic`, `partition`, `acl`, ...) and a name within it."""

    type: str
    name: str

    def __str__(self) -> str:
        """The resource as a plan shows it."""
        return f"{self.type} {self.name}"


@frozen
class Action:
    """One alteration of one resource. A plan has at most one of a kind for each resource.

    `before` is what the cluster had when the action was planned, `after` what it will have; both hold only what the action
    is about. `secrets` are passwords that are sent and never shown. `source` is the file and line that asks for it.
    `topic_id` is the id of the topic that the resource is or belongs to; None if there is none, or if it is not known.
    """

    kind: str
    resource: Resource
    before: State
    after: State
    guards: frozenset[Guard] = frozenset()
    secrets: Mapping[str, Secret] = field(default_factory=dict, repr=False)
    source: str | None = None
    topic_id: str | None = None


@frozen(kw_only=False)
class Answered:
    """Values that a cluster returned for an action: printed for the caller, and not recorded.

    Secrets among the values are revealed in the output of the command, and nowhere else: a delegation token is shown once.
    """

    values: Mapping[str, Any]


def same_state(first: State, second: State) -> bool:
    """True if two states are the same as JSON, for which a tuple and a list are the same."""
    return _canonical(first) == _canonical(second)


def json_values(value: Any) -> Any:
    """A state as JSON has it: numbers that are not finite, which brokers accept as limits of quotas, become text."""
    if isinstance(value, Mapping):
        return {name: json_values(one) for name, one in value.items()}
    return json.dumps(value) if isinstance(value, float) and not math.isfinite(value) else value


@frozen
class ActionKind:
    """The functions that carry out actions of one kind.

    `read` returns the live state of each action's resource, in the shape of `before` and `after`, or the failure to read it.
    `send` requests the actions, and returns the failures of those that the cluster refused or did not answer, and its messages
    about others. With `validate_only`, which is passed only where `can_validate`, brokers check and change nothing.

    `is_done` tells from the live state that an action was carried out whose answer is missing, or that has an error code in
    `already`, which says that there is nothing left to do. The resource had another state before the action was sent, so the
    action itself may have changed it: a broker that forwards a request to the controller sends it again if the controller moves
    or closes the connection, and returns the answer to the second request.

    `topic_of` returns the topic that a resource is or belongs to, if it must be the topic for which the action was planned.
    """

    name: str
    title: str  # the words for it in plans: `create topic`; with {type} where resources are of several types
    read: Callable[[Cluster, Sequence[Action], Deadline], Mapping[Resource, State | Failure]]
    send: Callable[[Cluster, Sequence[Action], bool, Deadline], Mapping[Resource, Failure | Answered]]
    can_validate: bool = False
    is_done: Callable[[Action, State], bool] = lambda action, live: same_state(live, action.after)
    already: frozenset[int] = frozenset()
    topic_of: Callable[[Resource], str | None] = lambda _: None

    def about(self, resource: Resource) -> str:
        """A description of the action: `create topic orders`."""
        return f"{self.title.format(type=resource.type)} {resource.name}"


def never(_action: Action, _live: State) -> bool:
    """Returns False: for `is_done` of kinds whose actions look like those of other users afterwards."""
    return False


def sending_order(kinds: Iterable[str]) -> Callable[[Action], tuple[bool, int]]:
    """The key that sorts actions: those with guards after all others, and each of the two parts in the order of these kinds."""
    order = {name: place for place, name in enumerate(kinds)}
    return lambda action: (bool(action.guards), order[action.kind])


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Actions for one cluster in the order in which they are carried out; `cluster` is its name in the settings.

    `is_whole` is false if the plan leaves out something that has to wait: then no action with a guard is sent.
    """

    cluster: str
    cluster_id: str
    actions: tuple[Action, ...]
    is_whole: bool = True

    @cached_property  # two rows of each action have it
    def id(self) -> str:
        """An id of the plan that depends only on its actions."""
        return plan_id(self.cluster_id, self.actions)


def plan_id(cluster_id: str, actions: Sequence[Action]) -> str:
    """An id that depends only on the actions: equal plans for the same cluster have the same id, whenever they were made."""
    facts = [
        [action.kind, *action.resource, action.before, action.after, *([action.topic_id] if action.topic_id else [])]
        for action in actions
    ]
    return hashlib.sha256(_canonical([cluster_id, facts]).encode()).hexdigest()[:16]


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
