"""`lagoon kafka describe-group`: groups of every type with their members and what those were given."""

import argparse

from kafka_lagoon.cli.kafka.chosen import list_notes, not_listed
from kafka_lagoon.cli.kafka.verb import Answer, Asked, Part, Verb
from kafka_lagoon.client.failures import Scope
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.snapshot.groups import describe_groups, list_groups
from kafka_lagoon.snapshot.topology import Topology, topology_of

_GROUP = ("group_id", "group_type", "state", "protocol", "coordinator_id", "members", "group_epoch", "problem")
_MEMBER = (
    *("group_id", "member_id", "group_instance_id", "client_id", "client_host", "rack_id", "member_epoch"),
    *("assignment", "problem"),
)


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("group", nargs="*", metavar="GROUP", help="ids of groups; default: all")


def _answer(asked: Asked) -> Answer:
    wanted: list[str] = asked.told.group
    listed, lists = list_groups(asked.cluster, asked.deadline)
    chosen = {group_id: one for group_id, one in listed.items() if not wanted or group_id in wanted}
    groups = describe_groups(asked.cluster, chosen, asked.deadline, lambda: _topology(asked))
    return Answer(
        parts=[
            Part(kind="group", rows=groups.groups, columns=_GROUP),
            Part(kind="member", rows=groups.members, columns=_MEMBER),
        ],
        failures=[
            *lists.failures.values(),
            *groups.failures,
            *not_listed(LIST_GROUPS.name, Scope.group, wanted, listed, lists.failures.values()),
        ],
        notes=() if wanted else list_notes(asked, LIST_GROUPS.name, "groups"),
    )


def _topology(asked: Asked) -> Topology:
    return topology_of(asked.cluster.refresh(None, asked.deadline))


VERB = Verb(summary="Groups of every type, their members and assignments.", declare=_declare, answer=_answer)
