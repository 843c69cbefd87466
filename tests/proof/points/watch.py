"""Watches a folder from outside of the processes that change it, by inotify: every file that is created, written or removed."""

import ctypes
import os
import select
import struct
from collections import Counter
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import NamedTuple, Self

_MODIFY, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x40, 0x80, 0x100, 0x200
_OVERFLOW, _IS_FOLDER = 0x4000, 0x40000000
_KINDS = {_MODIFY: "write", _MOVED_FROM: "gone", _MOVED_TO: "new", _CREATE: "new", _DELETE: "gone"}
_EVENT = struct.Struct("iIII")
_POLL_MS = 50


class Change(NamedTuple):
    """A change of a folder: `new`, `write` or `gone`, and the path below the folder."""

    kind: str
    path: str


class Watch:
    """All changes below a folder until the block ends; content that is written several times counts once a write."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._libc = folder, ctypes.CDLL(None, use_errno=True)
        self._handle = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        self._folders: dict[int, str] = {}
        self._known: set[str] = set()
        self._is_over = False
        self._thread = Thread(target=self._read)
        self.changes: Counter[Change] = Counter()

    def __enter__(self) -> Self:
        self._add(".", is_new=False)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_over = True
        self._thread.join()
        os.close(self._handle)

    def _add(self, path: str, *, is_new: bool) -> None:
        """Watch a folder and those in it. In a new one files may be older than the watch."""
        folder = self._folder / path
        mask = _MODIFY | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
        number = self._libc.inotify_add_watch(self._handle, os.fsencode(folder), mask)
        if number < 0:
            return  # it is gone
        self._folders[number] = path
        for entry in os.scandir(folder):
            below = os.path.normpath(f"{path}/{entry.name}")
            if is_new and below not in self._known:
                self._note("new", below)
                if entry.is_file() and entry.stat().st_size:
                    self._note("write", below)
            if entry.is_dir(follow_symlinks=False):
                self._add(below, is_new=is_new)

    def _note(self, kind: str, path: str) -> None:
        self.changes[Change(kind, path)] += 1
        (self._known.discard if kind == "gone" else self._known.add)(path)

    def _read(self) -> None:
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        while poll.poll(_POLL_MS) or not self._is_over:
            try:
                data = os.read(self._handle, 1 << 20)
            except BlockingIOError:
                continue
            position = 0
            while position < len(data):
                number, mask, _, length = _EVENT.unpack_from(data, position)
                position += _EVENT.size + length
                self._take(number, mask, os.fsdecode(data[position - length : position].rstrip(b"\0")))

    def _take(self, number: int, mask: int, name: str) -> None:
        if mask & _OVERFLOW:
            raise RuntimeError("inotify lost events")
        if number not in self._folders or not name:
            return
        path = os.path.normpath(f"{self._folders[number]}/{name}")
        for bit, kind in _KINDS.items():
            if mask & bit and not (kind == "new" and path in self._known):
                self._note(kind, path)
        if mask & _IS_FOLDER and mask & (_CREATE | _MOVED_TO):
            self._add(path, is_new=True)
