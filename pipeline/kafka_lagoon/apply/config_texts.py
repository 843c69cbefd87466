"""Compares values of configs as Kafka parses them: most can be written in several ways."""

import re

from kafka_lagoon.protocol.messages.describe_configs import CONFIG_TYPES

# Lists without an order; the order of other lists counts.
_SETS = re.compile(
    r"(log\.)?cleanup\.policy|.*\.replication\.throttled\.replicas|sasl\.enabled\.mechanisms|metric\.reporters"
    r"|metrics|match"
)
_WHOLE = re.compile(r"[-+]?\d{1,20}", re.ASCII)
_DECIMAL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
_LIMITS = {"SHORT": 2**15, "INT": 2**31, "LONG": 2**63}


def is_same(name: str, config_type: int, live: str | None, wanted: str | None) -> bool:
    """True if two values of a config mean the same; None is not set."""
    if live is None or wanted is None:
        return live is wanted
    return live == wanted or _meaning(name, config_type, live) == _meaning(name, config_type, wanted)


def may_be_same(name: str, live: str | None, wanted: str | None) -> bool:
    """True if two values mean the same for some type: the states of actions have no types."""
    return any(is_same(name, config_type, live, wanted) for config_type in CONFIG_TYPES)


def type_fault(config_type: int, text: str) -> str | None:
    """The reason why a text is no value of a type (a number of CONFIG_TYPES); None if it is a value."""
    kind = CONFIG_TYPES.get(config_type, "UNKNOWN")
    value = text.strip()
    if kind in _LIMITS:
        limit = _LIMITS[kind]
        if not _WHOLE.fullmatch(value) or not -limit <= int(value) < limit:
            return f"must be a whole number ({kind})"
    if kind == "BOOLEAN" and value.lower() not in ("true", "false"):
        return "must be true or false"
    if kind == "DOUBLE" and not _DECIMAL.fullmatch(value):
        return "must be a number"
    return None


def _meaning(name: str, config_type: int, text: str) -> object:
    kind = CONFIG_TYPES.get(config_type, "UNKNOWN")
    if type_fault(config_type, text):
        return text
    if kind in _LIMITS:
        return int(text)
    if kind == "DOUBLE":
        return float(text)
    if kind == "BOOLEAN":
        return text.strip().lower()
    if kind == "LIST" or _SETS.fullmatch(name):
        parts = [part.strip() for part in text.split(",") if part.strip()]
        return sorted(set(parts)) if _SETS.fullmatch(name) else parts
    return text.strip() if kind in ("STRING", "CLASS") else text
