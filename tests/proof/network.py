"""Proxies between the jobs and every broker, which break connections by rules that a history sets.

Brokers advertise the port of their proxy at a listener of its own, so clients that use it stay behind the proxies whichever answer sent
them there. The proxies know frames and the key of their API, and nothing else of the protocol: no codec of ours is involved.
Producers of a history talk to brokers without them. Brokers talk among themselves, and to the controllers, through proxies of their own, so that one of them can be cut off from the others: it
is known by the port that leads to it, and by the client id of its requests.
"""

import asyncio
import re
import socket
import struct
import threading
from collections import Counter, deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

HOST = "127.0.0.1"
APIS: Mapping[str, int] = {
    "fetch": 1,
    "list_offsets": 2,
    "metadata": 3,
    "offset_fetch": 9,
    "find_coordinator": 10,
    "describe_groups": 15,
    "list_groups": 16,
    "api_versions": 18,
    "create_topics": 19,
    "delete_topics": 20,
    "offset_for_leader_epoch": 23,
    "describe_configs": 32,
    "sasl_authenticate": 36,
    "create_partitions": 37,
    "incremental_alter_configs": 44,
    "any": -1,
}
ACTIONS = ("swallow", "delay", "reset", "truncate", "cut")
_OF_BROKERS = re.compile(r"(?:broker-|raft-client-)?(\d+)(?:-.*)?")
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close by RST


@dataclass(slots=True)
class Rule:
    """Does something to responses of an API, of one broker or of all (0), at most `count` times."""

    action: str
    api: str
    broker: int
    ms: int
    count: int
    hits: int = field(default=0, init=False)

    def takes(self, broker: int, api_key: int) -> bool:
        """Return True if the rule is about this response, and count it."""
        is_wanted = self.broker in (0, broker) and APIS[self.api] in (-1, api_key) and self.hits < self.count
        self.hits += is_wanted
        return is_wanted


class Network:
    """The proxies of a cluster, in a thread of their own, until the context ends."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._sockets: dict[int, socket.socket] = {}
        self._targets: dict[int, int] = {}
        self._rules: list[Rule] = []
        self._open: dict[asyncio.StreamWriter, frozenset[int]] = {}  # and the brokers at both ends

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def front(self, broker: int, port: int) -> int:
        """Put a proxy before a broker's port, or before its new port, and return the port of the proxy."""
        self._targets[broker] = port
        if broker not in self._sockets:
            server = socket.create_server((HOST, 0))
            self._sockets[broker] = server
            asyncio.run_coroutine_threadsafe(self._serve(broker, server), self._loop).result(10)
        address: tuple[str, int] = self._sockets[broker].getsockname()
        return address[1]

    def add(self, rule: Rule) -> None:
        """Apply a rule from now on; `cut` also ends the connections that are open."""
        self._rules.append(rule)
        if rule.action == "cut":
            self._loop.call_soon_threadsafe(self._reset_all, rule.broker)

    def mend(self, name: str = "network") -> Counter[str]:
        """Remove all rules; return how often each kind of them has done something."""
        done: Counter[str] = Counter()
        for rule in self._rules:
            done[f"{name} {rule.action}"] += rule.hits
        self._rules = []
        return done

    async def _serve(self, broker: int, server: socket.socket) -> None:
        await asyncio.start_server(lambda reader, writer: self._pass_on(broker, reader, writer), sock=server)

    async def _close(self) -> None:
        self._reset_all(0)
        for server in self._sockets.values():
            server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _reset_all(self, of_broker: int) -> None:
        for writer, brokers in list(self._open.items()):
            if of_broker in (0, *brokers):
                _reset(writer)

    def _taking(self, broker: int, api_key: int, *, cuts: bool) -> Rule | None:
        rules = (rule for rule in self._rules if (rule.action == "cut") is cuts)
        return next((rule for rule in rules if rule.takes(broker, api_key)), None)

    async def _pass_on(self, broker: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect a client with its broker until one of them ends."""
        if self._taking(broker, -1, cuts=True):
            _reset(writer)
            return
        opened = [writer]
        try:
            answers, requests = await asyncio.open_connection(HOST, self._targets[broker])
            opened.append(requests)
            self._open.update(dict.fromkeys(opened, frozenset({broker})))
            waiting: deque[int] = deque()  # keys of requests without a response: brokers answer in order
            both = [
                asyncio.ensure_future(self._requests(broker, (reader, writer), requests, waiting)),
                asyncio.ensure_future(self._responses(broker, answers, writer, waiting)),
            ]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for direction in both:
                direction.cancel()
            await asyncio.gather(*both, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            pass  # the broker does not run, or the proxies end: Python 3.11 prints a traceback for a handler that was cancelled
        finally:
            for stream in opened:
                self._open.pop(stream, None)
                with suppress(OSError, RuntimeError):
                    stream.close()

    async def _requests(
        self,
        target: int,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        broker: asyncio.StreamWriter,
        waiting: deque[int],
    ) -> None:
        reader, writer = client
        is_known = False
        while frame := await _frame(reader):
            if not is_known:
                is_known = True
                ends = frozenset({target, *_broker_of(frame)})
                self._open.update(dict.fromkeys((writer, broker), ends))
                if any(self._taking(end, -1, cuts=True) for end in ends - {target}):
                    _reset(writer)
                    return
            waiting.append(int.from_bytes(frame[4:6], "big"))
            broker.write(frame)
            await broker.drain()

    async def _responses(
        self, broker: int, answers: asyncio.StreamReader, client: asyncio.StreamWriter, waiting: deque[int]
    ) -> None:
        while frame := await _frame(answers):
            rule = self._taking(broker, waiting.popleft(), cuts=False)
            match rule.action if rule else None:
                case "swallow":
                    continue
                case "reset":
                    _reset(client)
                    return
                case "truncate":
                    client.write(frame[: len(frame) // 2])
                    await client.drain()
                    return
            if rule:
                await asyncio.sleep(rule.ms / 1000)
            client.write(frame)
            await client.drain()


@dataclass(frozen=True, slots=True, kw_only=True)
class Networks:
    """The proxies of a cluster: those of clients, of brokers among themselves, and of brokers to the controllers."""

    clients: Network
    peers: Network
    controllers: Network

    def cut_off(self, broker: int, side: str) -> None:
        """Let a broker reach no other broker (`peers`), or no controller (`controllers`), and the other way round."""
        {"peers": self.peers, "controllers": self.controllers}[side].add(Rule("cut", "any", broker, 0, 1 << 30))

    def mend(self) -> Counter[str]:
        """End every fault; return how often each kind of them has done something."""
        refused = self.peers.mend("peers") + self.controllers.mend("controllers")
        return self.clients.mend() + Counter(refused.keys())  # brokers try again and again: a fault, not a hundred


def _broker_of(frame: bytes) -> list[int]:
    """Return the id of the broker that sends a request, by its client id; nothing if no broker sends it."""
    length = int.from_bytes(frame[12:14], "big", signed=True)
    named = _OF_BROKERS.fullmatch(frame[14 : 14 + max(0, length)].decode("utf-8", "replace"))
    return [int(named[1])] if named else []


async def _frame(stream: asyncio.StreamReader) -> bytes:
    """Return the next frame with its length; empty at the end."""
    try:
        length = await stream.readexactly(4)
        return length + await stream.readexactly(int.from_bytes(length, "big"))
    except (asyncio.IncompleteReadError, OSError):
        return b""


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection by RST."""
    stream: socket.socket | None = writer.get_extra_info("socket")
    if stream is not None:
        with suppress(OSError):
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
