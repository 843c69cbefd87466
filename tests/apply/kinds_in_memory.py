"""Kinds of actions on resources in a dictionary, and a cluster with only a clock."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from kafka_lagoon.apply.action import Action, ActionKind, Answered, Guard, Plan, Resource, State
from kafka_lagoon.apply.execution import Execution, execute, make_plan
from kafka_lagoon.apply.recording import Run
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.errors import TableError
from kafka_lagoon.tables.write_rows import AdminActionRow
from tests.clock import Hands

RUN = Run(run_id="run", job="admin", principal="alice", user="root", host="here")


def failure(name: str, *, may_be_done: bool = False, code: int | None = None) -> Failure:
    """Make a failure of a request."""
    return replace(own_failure("SomeApi", Scope.list("it"), name), may_be_done=may_be_done, code=code)


def resource(name: str) -> Resource:
    """Make a resource of the only type."""
    return Resource("thing", name)


def action(name: str, kind: str = "put", after: State = None, before: State = None, *guards: Guard) -> Action:
    """Make an action, by default a `put`, which sets the value of a resource."""
    wanted = {"value": 1} if after is None and kind == "put" else after
    return Action(kind=kind, resource=resource(name), before=before, after=wanted, guards=frozenset(guards))


@dataclass
class Things:
    """The resources of a cluster by name, the answers to requests about names, and the requests."""

    live: dict[str, State | Failure] = field(default_factory=dict)
    # Names whose `send` raises after the change ...
    answers: dict[str, Failure | Answered] = field(default_factory=dict)
    undone: set[str] = field(default_factory=set)  # ... except for these names
    invalid: dict[str, Failure] = field(default_factory=dict)  # results of the validation
    already: frozenset[int] = frozenset()  # error codes that say that there is nothing to do any more
    sent: list[tuple[str, str]] = field(default_factory=list)  # kind and name
    hands: Hands = field(default_factory=Hands)
    on_read: Callable[[], None] = lambda: None
    on_send: Callable[[], None] = lambda: None  # called after the changes of `send`

    def cluster(self) -> Cluster:
        """Make a cluster with a clock."""

        @dataclass
        class OnlyClock:
            clock: Clock

        return cast("Cluster", OnlyClock(self.hands.clock()))

    def read(self, _cluster: Cluster, actions: Sequence[Action], _deadline: Deadline) -> Mapping[Resource, Any]:
        """Return the live state of the resources."""
        self.on_read()
        return {one.resource: self.live.get(one.resource.name) for one in actions}

    def kinds(self) -> Mapping[str, ActionKind]:
        """`put` comes first and can be validated, `drop` comes last."""
        return {
            name: ActionKind(
                name=name,
                title=name,
                read=self.read,
                send=self._send,
                can_validate=name == "put",
                already=self.already,
            )
            for name in ("put", "drop")
        }

    def _send(
        self, _cluster: Cluster, actions: Sequence[Action], validate_only: bool, _deadline: Deadline
    ) -> Mapping[Resource, Failure | Answered]:
        if validate_only:
            return {
                one.resource: self.invalid[one.resource.name] for one in actions if one.resource.name in self.invalid
            }
        for asked_for in actions:
            self.sent.append((asked_for.kind, asked_for.resource.name))
            if asked_for.resource.name not in self.undone:
                self.live[asked_for.resource.name] = asked_for.after
        self.on_send()
        return {resource(name): answer for name, answer in self.answers.items()}

    def plan(self, *actions: Action, is_whole: bool = True) -> Plan:
        """Make a plan of these actions."""
        return make_plan("default", "id", actions, self.kinds(), is_whole=is_whole)

    def carry_out(
        self,
        *actions: Action,
        allowed: Sequence[Guard] = (),
        recorder: "Rows | None" = None,
        is_whole: bool = True,
    ) -> Execution:
        """Carry out a plan of these actions."""
        return execute(
            self.cluster(),
            self.plan(*actions, is_whole=is_whole),
            allowed,
            RUN,
            recorder or Rows(),
            Deadline.after(self.hands.clock(), 60_000),
            self.kinds(),
        )


class Rows:
    """A recorder in memory; one of its writes, counted from 1, raises an error."""

    def __init__(self, breaks_at: int = 0) -> None:
        self.written: list[list[AdminActionRow]] = []
        self._breaks_at = breaks_at

    def write(self, rows: Sequence[AdminActionRow]) -> None:
        """Keep rows, or raise the error."""
        if len(self.written) + 1 == self._breaks_at:
            raise TableError("the disk is full")
        self.written.append(list(rows))

    def brief(self) -> list[list[tuple[str, str, str | None]]]:
        """Return event, name and outcome of each row, by write."""
        return [[(row.event, row.resource_name, row.outcome) for row in rows] for rows in self.written]
