"""Makes the actions that turn a cluster as it is into the desired one: a pure function of both.

Nothing is removed that the patterns of `owns` do not match, so without them nothing is deleted or unset.
"""

from collections.abc import Iterator, Mapping

from kafka_lagoon.admin.config_values import SENSITIVE, Values
from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.config_texts import is_same
from kafka_lagoon.apply.desired.document import Path
from kafka_lagoon.apply.desired.state import CONFIG_SECTIONS, Acl, DesiredState
from kafka_lagoon.apply.kinds.acls import acl_of, create_acl, delete_acl
from kafka_lagoon.apply.kinds.configs import change_configs
from kafka_lagoon.apply.live import Live, config_resource
from kafka_lagoon.apply.topic_diff import topic_actions
from kafka_lagoon.secret import Secret


def diff(desired: DesiredState, live: Live) -> list[Action]:
    """Actions in no particular order; none if the cluster is as it should be."""
    return [
        *topic_actions(desired, live),
        *_config_actions(desired, live),
        *_acl_actions(desired, live),
        *_quota_actions(desired, live),
        *_scram_actions(desired, live),
        *_feature_actions(desired, live),
    ]


def _config_actions(desired: DesiredState, live: Live) -> Iterator[Action]:
    for resource_type, name, configs, path in written_configs(desired):
        if resource_type == "topic" and name not in live.topics:
            continue  # they are set when it is created
        values = live.values(resource_type, name)
        changes = _changes(values, configs, unset_others=desired.is_owned(resource_type, name))
        if action := _change(resource_type, name, values, changes, desired.document.place(path)):
            yield action
    for resource_type, section in CONFIG_SECTIONS.items():
        for name, values in live.configs.get(resource_type, {}).items():
            if name not in desired.configs[resource_type] and desired.is_owned(resource_type, name):
                changes = _changes(values, {}, unset_others=True)
                place = desired.document.place(("owns", section))
                if action := _change(resource_type, name, values, changes, place):
                    yield action


def written_configs(desired: DesiredState) -> Iterator[tuple[str, str, Mapping[str, str], Path]]:
    """Every resource with configs that are written: type, name, configs, and where."""
    for name, topic in desired.topics.items():
        yield "topic", name, topic.configs, ("topics", name, "configs")
    for resource_type, section in CONFIG_SECTIONS.items():
        for name, configs in desired.configs[resource_type].items():
            yield resource_type, name, configs, (section, name)


def _changes(values: Values, wanted: Mapping[str, str], *, unset_others: bool) -> dict[str, str | Secret | None]:
    """What has to be set or unset. A sensitive value that is set cannot be compared, and stays."""
    changes: dict[str, str | Secret | None] = {}
    for key, text in wanted.items():
        value = values.get(key)
        if value is None:
            changes[key] = text
        elif value.is_sensitive:
            changes |= {} if value.own == SENSITIVE else {key: Secret(text)}
        elif not is_same(key, value.config_type, value.own, text):
            changes[key] = text
    if unset_others:
        kept = {key for key, value in values.items() if value.own in (None, SENSITIVE)}
        changes |= dict.fromkeys(sorted(set(values) - kept - set(wanted)))
    return changes


def _change(
    resource_type: str, name: str, values: Values, changes: Mapping[str, str | Secret | None], place: str
) -> Action | None:
    return change_configs(config_resource(resource_type, name), values, changes, place)


def _acl_actions(desired: DesiredState, live: Live) -> Iterator[Action]:
    for rule, path in desired.acls.items():
        if rule not in live.acls:
            yield create_acl(acl_of(rule._asdict()), desired.document.place(path))
    for rule in live.acls - set(desired.acls):
        if desired.is_owned("acl", rule.principal) and is_known(rule):
            yield delete_acl(acl_of(rule._asdict()), desired.document.place(("owns", "principals")))


def is_known(rule: Acl) -> bool:
    """Whether we know every word of it: a later Kafka may have more operations."""
    return not any(word.startswith("UNKNOWN") for word in (rule.resource_type, rule.pattern_type, rule.operation))
