"""`lagoon admin alter-configs`: sets, unsets and edits configs of topics, brokers, groups, client metrics and loggers."""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from kafka_lagoon.admin.config_values import (
    ConfigResource,
    ConfigValue,
    Values,
    config_values,
    without_listener,
)
from kafka_lagoon.admin.configs import ALL_BROKERS, PER_BROKER, RESOURCE_TYPES
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.apply.action import Action, Guard
from kafka_lagoon.apply.kinds.configs import change_configs, named_resource
from kafka_lagoon.cli.admin.command import altering
from kafka_lagoon.cli.admin.topics import config
from kafka_lagoon.cli.arguments import not_empty
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.cli.permissions import ALTER_CLUSTER_CONFIGS, Requirement
from kafka_lagoon.cli.planned_actions import PlannedActions
from kafka_lagoon.client.failures import Failure, own_failure
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_configs import BROKER, CLIENT_METRICS, CONFIG_TYPES
from kafka_lagoon.protocol.messages.incremental_alter_configs import INCREMENTAL_ALTER_CONFIGS

_NOT_A_LIST, _NOT_KNOWN = "NOT_A_LIST", "NOT_KNOWN"
_LIST = 7  # number of type LIST in CONFIG_TYPES
_BROKER = re.compile(r"0|[1-9][0-9]{0,9}")  # ids of brokers in the spelling of their answers
_NO_NAME = re.compile(r"[,=\s]")


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument("kind", choices=tuple(RESOURCE_TYPES), help="type of the resources")
    parser.add_argument(
        "names", nargs="+", metavar="NAME", help=f"topics, groups, broker ids, or {ALL_BROKERS}: all brokers"
    )
    edits = (
        ("--config", "set this config; a secret may be env:NAME or file:PATH"),
        ("--append", "add values that a list does not have yet, separated by commas"),
        ("--subtract", "remove values from a list, separated by commas"),
    )
    for option, meaning in edits:
        parser.add_argument(option, action="append", type=config, default=[], metavar="CONFIG=VALUE", help=meaning)
    parser.add_argument(
        "--unset",
        action="append",
        type=_config_name,
        default=[],
        metavar="CONFIG",
        help="remove this config, so that its default applies",
    )


def _config_name(text: str) -> str:
    """Parse the name of one config. A list or a value would be the name of a config that is not set, and nothing to do."""
    if _NO_NAME.search(not_empty(text)):
        raise ArgumentTypeError(
            f"{text!r} is not the name of one config: give the option once for each, without a value"
        )
    return text


def _check(options: Namespace) -> Iterator[str]:
    times = Counter([*(name for name, _ in options.config), *_edited(options), *options.unset])
    if not times:
        yield "nothing to change: give --config, --unset, --append or --subtract"
    yield from (f"{name}: given {count} times" for name, count in times.items() if count > 1)
    resource_type = RESOURCE_TYPES[options.kind]
    if resource_type in PER_BROKER:
        for name in options.names:
            if not _BROKER.fullmatch(name) and (resource_type, name) != (BROKER, ALL_BROKERS):
                yield f"{name}: not the id of a broker"


def _plan(context: ClusterContext) -> PlannedActions:
    resource_type = RESOURCE_TYPES[context.options.kind]
    resources = [named_resource(resource_type, name) for name in dict.fromkeys(context.options.names)]
    actions: list[Action] = []
    failures: list[Failure] = []
    for resource, values in config_values(context.cluster, resources, context.deadline).items():
        if isinstance(values, Failure):
            failures.append(values)
            continue
        known = {**values, **_unlisted(context, resource, values, failures)}
        faults = [*_not_known(resource, known, context.options), *_not_lists(resource, known, context.options)]
        failures += faults
        action = None if faults else change_configs(resource, known, _changes(known, context.options))
        actions += [action] if action else []
    return PlannedActions(actions=actions, failures=failures)


def _edited(options: Namespace) -> list[str]:
    """The lists that are edited: their values in effect must be known."""
    return [name for name, _ in chain(options.append, options.subtract)]


def _unlisted(
    context: ClusterContext, resource: ConfigResource, values: Values, failures: list[Failure]
) -> dict[str, ConfigValue]:
    """The edited lists that brokers do not return because they are not set: those of all brokers, or of a listener."""
    missing = [name for name in _edited(context.options) if name not in values]
    brokers = [values]
    if missing and resource == ConfigResource(BROKER, ""):
        each = [ConfigResource(BROKER, str(broker_id)) for broker_id in sorted(context.cluster.brokers)]
        answers = config_values(context.cluster, each, context.deadline).values()
        failures += (answer for answer in answers if isinstance(answer, Failure))
        brokers = [answer for answer in answers if not isinstance(answer, Failure)]
    return {name: value for name in missing if (value := _inherited(resource, brokers, name))}


def _inherited(resource: ConfigResource, brokers: Sequence[Values], name: str) -> ConfigValue | None:
    """A config that is not set on the resource, with the value that is in effect on all brokers; None if they differ."""
    if resource.resource_type == CLIENT_METRICS:  # lists of a subscription are empty where they are not set
        return ConfigValue(own=None, inherited="", is_sensitive=False, is_read_only=False, config_type=_LIST)
    base = without_listener(name)
    texts = {_in_effect(values, name, base) for values in brokers}
    text = texts.pop() if len(texts) == 1 else None
    if text is None:
        return None
    listed = brokers[0].get(name) or brokers[0][base]
    return replace(listed, own=None, inherited=text)


def _in_effect(values: Values, name: str, base: str) -> str | None:
    """The value in effect on a broker that does not set this name itself; None if it is not known."""
    value = values.get(name)
    if value and (value.own is None or value.inherited is not None):
        return value.inherited or ""
    without_prefix = values.get(base) if base != name else None
    return without_prefix.effective or "" if without_prefix else None


def _not_known(resource: ConfigResource, values: Values, options: Namespace) -> Iterator[Failure]:
    for name in _edited(options):
        if name not in values:
            text = f"the value of {name} in effect is not known, or differs between brokers: set the whole list with --config"
            yield own_failure(INCREMENTAL_ALTER_CONFIGS, resource.scope(), _NOT_KNOWN, text)


def _not_lists(resource: ConfigResource, values: Values, options: Namespace) -> Iterator[Failure]:
    for name in _edited(options):
        if name in values and CONFIG_TYPES.get(values[name].config_type) not in ("LIST", "UNKNOWN"):
            text = f"{name} is not a list, so nothing can be added to it or removed"
            yield own_failure(INCREMENTAL_ALTER_CONFIGS, resource.scope(), _NOT_A_LIST, text)


def _changes(values: Values, options: Namespace) -> Mapping[str, str | None]:
    """Return the new value of each named config. Lists are edited here, so that the plan shows the resulting list."""
    changes: dict[str, str | None] = {**dict(options.config), **dict.fromkeys(options.unset)}
    for name, text in options.append:
        known = _words(values[name])
        added = dict.fromkeys(_split(text))
        for word in known:
            added.pop(word, None)
        changes |= _edit(name, known, [*known, *added])
    for name, text in options.subtract:
        known, removed = _words(values[name]), frozenset(_split(text))
        changes |= _edit(name, known, [word for word in known if word not in removed])
    return changes


def _edit(name: str, known: list[str], wanted: list[str]) -> dict[str, str | None]:
    """The change of a list; empty if it has the wanted values already."""
    return {} if wanted == known else {name: ",".join(wanted)}


def _words(value: ConfigValue) -> list[str]:
    return _split(value.effective or "")


def _split(text: str) -> list[str]:
    return [word for part in text.split(",") if (word := part.strip())]


COMMAND = Command(
    kind=altering(Guard.SHRINKING_RETENTION, Guard.UNCLEAN_ELECTIONS, Guard.INTERNAL_TOPICS),
    summary="Sets, edits and removes configs of a resource; configs that are not named stay unchanged.",
    examples=(
        "lagoon admin alter-configs topic orders -b kafka-1:9092 --config retention.ms=604800000",
        "lagoon admin alter-configs topic orders payments -b kafka-1:9092 --unset retention.ms --dry-run",
    ),
    declare=_declare,
    check=_check,
    answer=_plan,
    requires={
        "topic": Requirement(permissions=(Permission(acls.ALTER_CONFIGS, acls.TOPIC, "refused for each topic"),)),
        "group": Requirement(permissions=(Permission(acls.ALTER_CONFIGS, acls.GROUP, "refused for each group"),)),
        "broker": Requirement(permissions=(ALTER_CLUSTER_CONFIGS,)),
        "broker-logger": Requirement(permissions=(ALTER_CLUSTER_CONFIGS,)),
        "client-metrics": Requirement(permissions=(ALTER_CLUSTER_CONFIGS,)),
    },
)
