"""Shares test files out between the workers of a run, so that few workers start the same servers.

Files with brokers go to one worker, files with Spark to two others, because these take longest; every worker takes files without
servers besides. With xdist's own order each worker started every broker and a Spark session, a third of the processor time of
`make test`.
"""

import re
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadFileScheduling

# What a file that needs servers of a kind has in its text. A wrong guess costs time, nothing else.
_SIGNS = {
    "spark": re.compile(r"mark\.spark|\bspark\b: |\(\"spark\"|\bwarehouse: Warehouse|\bbucket: "),
    "brokers": re.compile(r"mark\.kafka|\b(kafka|secured|administered)(_\d+)?: "),
    "codecs": re.compile(r"mark\.java"),
}


@cache
def servers_of(path: str) -> str | None:
    """The servers that a test file needs; None for the files that need none."""
    text = Path(path).read_text("utf-8")
    return next((servers for servers, sign in _SIGNS.items() if sign.search(text)), None)


class Workers(LoadFileScheduling):
    """Gives each worker the files of its servers first, then files that need none."""

    def __init__(self, config: Any, log: Any) -> None:
        super().__init__(config, log)
        self._homes: dict[str, list[Any]] = {}

    def schedule(self) -> None:
        """Choose the workers of each kind of servers, then as xdist does."""
        if not self._homes:
            first, second, third = islice(cycle(self.nodes), 3)
            self._homes = {"spark": [first, third], "brokers": [second], "codecs": [third]}
        super().schedule()

    def _assign_work_unit(self, node: Any) -> None:
        if path := self._next_for(node):
            self.workqueue.move_to_end(path, last=False)
            super()._assign_work_unit(node)

    def _reschedule(self, node: Any) -> None:
        if node.shutting_down or self._next_for(node) or not self.workqueue:
            super()._reschedule(node)
        elif self._pending_of(self.assigned_work[node]) <= 2:
            node.shutdown()  # after the tests that it has

    def _next_for(self, node: Any) -> str | None:
        """The file that a worker runs next; files whose worker has died are for everybody."""
        without_servers = None
        for path in self.workqueue:
            homes = self._homes.get(servers_of(path) or "", [])
            if node in homes:
                return path
            if not any(home in self.assigned_work for home in homes):
                without_servers = without_servers or path
        return without_servers
