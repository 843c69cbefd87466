"""Makes a failing history shorter: leaves steps out as long as what remains still fails.

Greedy, by parts that are halved (as ddmin does): half of the steps first, single steps last. Each try plays a history on real
brokers and takes a minute, and a fault that depends on timing may not show itself again: so a part that is needed may survive,
and a try that passes proves nothing. The result is a history that has failed, never one that was only expected to.
"""

from collections.abc import Callable

from tests.proof.history import History

_TRIES = 40


def shrunk(history: History, fails: Callable[[History], bool], tries: int = _TRIES) -> History:
    """Return the shortest history that was seen to fail, after at most so many tries."""
    part = max(1, len(history.steps) // 2)
    while part and tries:
        start = 0
        while start < len(history.steps) and tries:
            shorter = history.with_steps([*history.steps[:start], *history.steps[start + part :]])
            tries -= 1
            if fails(shorter):
                history = shorter
            else:
                start += part
        part //= 2
    return history
