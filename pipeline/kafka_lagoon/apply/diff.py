"""Computes the actions that turn a cluster into the desired state: a pure function of both.

Resources that the patterns of `owns` do not match are never removed, so without patterns nothing is deleted or unset.
"""

from collections.abc import Iterator, Mapping

from kafka_lagoon.admin.config_values import SENSITIVE, Values
from kafka_lagoon.admin.scram import ScramCredential
from kafka_lagoon.apply.action import Action, Resource
from kafka_lagoon.apply.config_texts import is_same
from kafka_lagoon.apply.desired.document import Path
from kafka_lagoon.apply.desired.model import Credential
from kafka_lagoon.apply.desired.resources import CONFIG_SECTIONS, ScramUser, can_be_written, limits_to_write
from kafka_lagoon.apply.desired.state import DesiredState
from kafka_lagoon.apply.kinds.acls import acl_of, create_acl, delete_acl
from kafka_lagoon.apply.kinds.cluster import update_feature
from kafka_lagoon.apply.kinds.configs import change_configs, config_resource
from kafka_lagoon.apply.kinds.names import parse_quota_name
from kafka_lagoon.apply.kinds.quotas import alter_quotas
from kafka_lagoon.apply.kinds.users import MECHANISMS, alter_scram, delete_scram
from kafka_lagoon.apply.live import Live
from kafka_lagoon.apply.topic_diff import topic_actions
from kafka_lagoon.protocol.messages.alter_user_scram_credentials import FEWEST_ITERATIONS
from kafka_lagoon.secret import Secret

_MIN_ISR = "min.insync.replicas"
_ELR = "eligible.leader.replicas.version"


def diff(desired: DesiredState, live: Live) -> list[Action]:
    """Actions in no particular order; none if the cluster has the desired state."""
    return [
        *topic_actions(desired, live),
        *_config_actions(desired, live),
        *_acl_actions(desired, live),
        *_quota_actions(desired, live),
        *_scram_actions(desired, live),
        *_feature_actions(desired, live),
    ]


def _config_actions(desired: DesiredState, live: Live) -> Iterator[Action]:
    """Config changes of resources whose configs were read; a new topic gets its configs when it is created."""
    for resource_type, name, configs, path in written_configs(desired):
        described = live.configs.get(resource_type, {})
        if name in described:  # a resource on which nothing is set is described, too, without values
            values, unset_others = described[name], desired.owns.is_owned(resource_type, name)
            yield from _changed(desired, live, resource_type, name, values, configs, path, unset_others=unset_others)
    for resource_type, section in CONFIG_SECTIONS.items():
        for name, values in live.configs.get(resource_type, {}).items():
            if name not in desired.configs[resource_type] and desired.owns.is_owned(resource_type, name):
                path = ("owns", section)
                yield from _changed(desired, live, resource_type, name, values, {}, path, unset_others=True)


def _changed(
    desired: DesiredState,
    live: Live,
    resource_type: str,
    name: str,
    values: Values,
    wanted: Mapping[str, str],
    path: Path,
    *,
    unset_others: bool,
) -> Iterator[Action]:
    changes = _changes(live, resource_type, values, wanted, unset_others=unset_others)
    if resource_type == "broker" and changes.get(_MIN_ISR, "") is None and _has_elr(desired, live):
        del changes[_MIN_ISR]
    place = desired.document.place(path)
    if action := change_configs(config_resource(Resource(resource_type, name)), values, changes, place):
        yield action


def _has_elr(desired: DesiredState, live: Live) -> bool:
    """True if brokers keep a minimum of replicas in sync for the whole cluster (KIP-966), or will as the file says.

    It cannot be unset then. That of a single broker can neither be set nor unset: the controller unsets it when it enables the
    feature, which a plan does before it alters configs.
    """
    feature = (live.features or {}).get(_ELR)
    return (feature is not None and feature.level > 0) or desired.features.get(_ELR, 0) > 0


def written_configs(desired: DesiredState) -> Iterator[tuple[str, str, Mapping[str, str], Path]]:
    """Every resource with desired configs: type, name, configs, and place."""
    for name, topic in desired.topics.items():
        yield "topic", name, topic.configs, ("topics", name, "configs")
    for resource_type, section in CONFIG_SECTIONS.items():
        for name, configs in desired.configs[resource_type].items():
            yield resource_type, name, configs, (section, name)


def _changes(
    live: Live, resource_type: str, values: Values, wanted: Mapping[str, str], *, unset_others: bool
) -> dict[str, str | Secret | None]:
    """Configs to set or unset. A sensitive value that is set cannot be compared, and stays."""
    changes: dict[str, str | Secret | None] = {}
    for key, text in wanted.items():
        own = values[key].own if key in values else None
        known = live.known(resource_type, key)
        if known and known.is_sensitive:
            changes |= {} if own == SENSITIVE else {key: Secret(text)}
        elif not is_same(key, known.config_type if known else 0, own, text):
            changes[key] = text
    if unset_others:
        kept = {key for key, value in values.items() if value.own in (None, SENSITIVE)}
        changes |= dict.fromkeys(sorted(set(values) - kept - set(wanted)))
    return changes


def _acl_actions(desired: DesiredState, live: Live) -> Iterator[Action]:
    if live.acls is None:
        return
    for rule, path in desired.acls.items():
        if rule not in live.acls:
            yield create_acl(acl_of(rule._asdict()), desired.document.place(path))
    for rule in live.acls - set(desired.acls):
        if desired.owns.is_owned("acl", rule.principal) and can_be_written(rule):
            yield delete_acl(acl_of(rule._asdict()), desired.document.place(("owns", "principals")))


def _quota_actions(desired: DesiredState, live: Live) -> Iterator[Action]:
    """Changes of limits. Those that no file can describe stay, as ACLs do."""
    if live.quotas is None:
        return
    for name, limits in desired.quotas.items():
        known = live.quotas.get(name, {})
        is_owned = desired.owns.is_owned("quota", name)
        others = dict.fromkeys(sorted(limits_to_write(name, known).keys() - set(limits))) if is_owned else {}
        place = desired.document.place(desired.quota_paths[name])
        if action := alter_quotas(parse_quota_name(name), known, {**limits, **others}, place):
            yield action
    for name, known in live.quotas.items():
        unwritten = {} if name in desired.quotas else limits_to_write(name, known)
        if unwritten and desired.owns.is_owned("quota", name):
            place = desired.document.place(("owns", "quotas"))
            if action := alter_quotas(parse_quota_name(name), known, dict.fromkeys(unwritten), place):
                yield action


def _scram_actions(desired: DesiredState, live: Live) -> Iterator[Action]:
    if live.scram_users is None:
        return
    for user, credential in desired.scram_users.items():
        if credential.password and differs(user, credential, live.scram_users):
            before = live.scram_users.get(user)
            yield alter_scram(
                _credential(user),
                None if before is None else {"iterations": before},
                credential.iterations or FEWEST_ITERATIONS,
                credential.password,
                desired.document.place(("scram_users", *user)),
            )
    for user, iterations in live.scram_users.items():
        is_unwritten = user not in desired.scram_users and user.mechanism in MECHANISMS
        if is_unwritten and desired.owns.is_owned("scram_user", f"User:{user.name}"):
            place = desired.document.place(("owns", "principals"))
            yield delete_scram(_credential(user), {"iterations": iterations}, place)


def differs(user: ScramUser, credential: Credential, live: Mapping[ScramUser, int]) -> bool:
    """True if the user must be created, or its password hashed with another number of iterations."""
    return user not in live or credential.iterations not in (None, live[user])


def _credential(user: ScramUser) -> ScramCredential:
    return ScramCredential(user.name, MECHANISMS[user.mechanism])


def _feature_actions(desired: DesiredState, live: Live) -> Iterator[Action]:
    for name, level in desired.features.items():
        known = (live.features or {}).get(name)
        place = desired.document.place(("features", name))
        if known and (action := update_feature(name, known.level, level, source=place)):
            yield action
