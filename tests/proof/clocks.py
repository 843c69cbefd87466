"""Clocks of the jobs that step: a library (`clock.c`) in their processes adds an offset to the wall clock, and to nothing else.

libfaketime 0.9.10 cannot do that: with the monotonic clock left alone it lets Python's `time.sleep` fail, and else a step of the
wall clock is one of the monotonic clock too, which no system has.
"""

import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

_SOURCE = Path(__file__).with_name("clock.c")
_COMPILER = shutil.which("cc")
_DAY_S = 86_400


class Clocks:
    """The clocks of a history's jobs; where there is no C compiler they never step.

    `folder` gets the library and two offsets: of the clock that steps, and of jobs that run days later.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.is_there = _COMPILER is not None
        self.has_stepped = self.is_wrong = False

    def step(self, seconds: int) -> bool:
        """Let the clock of all jobs differ from ours by so much from now on, also of those that run; return True if it does."""
        if self.is_there:
            self._offset("stepping", seconds)
            self.is_wrong = seconds != 0
            self.has_stepped |= self.is_wrong
        return self.is_there

    def environment(self, days_later: int = 0) -> Mapping[str, str]:
        """Return what a process needs to have the clock that steps, or one that is days later."""
        if not self.is_there:
            return {}
        library = self._folder / "clock.so"
        if not library.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            if not self.has_stepped:
                self._offset("stepping", 0)
            compiled = self._folder / "clock.new"
            command = [str(_COMPILER), "-shared", "-fPIC", "-O2", "-o", str(compiled), str(_SOURCE), "-ldl"]
            subprocess.run(command, check=True)
            compiled.rename(library)
        offset = self._offset("later", days_later * _DAY_S) if days_later else self._folder / "stepping"
        return {"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(offset)}

    def _offset(self, name: str, seconds: int) -> Path:
        """Write an offset in place: processes have mapped the file."""
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)  # a history may begin with a step
        path.touch()
        with path.open("r+b") as file:
            file.write(struct.pack("<q", seconds * 1_000_000_000))
        return path
