"""What destroys something is refused until the option that names the danger is given."""

import pytest

from kafka_lagoon.apply.action import Guard
from kafka_lagoon.apply.guards import missing_guards, require_guards
from kafka_lagoon.errors import ConfigError
from tests.apply.kinds_in_memory import Things, action

ACTIONS = [
    action("a"),
    action("b", "drop", None, {}, Guard.DELETIONS),
    action("c", "drop", None, {}, Guard.RECORD_DELETION, Guard.DELETIONS),
]


def test_every_action_that_may_not_be_is_named() -> None:
    """With the options that are missing, and no others."""
    kinds = Things().kinds()
    assert list(missing_guards(ACTIONS, [Guard.DELETIONS], kinds)) == ["drop c needs --allow-record-deletion"]
    assert list(missing_guards(ACTIONS, Guard, kinds)) == []
    with pytest.raises(ConfigError):
        require_guards(ACTIONS, (), kinds)
