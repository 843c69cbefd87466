"""Memory that was freed goes back to the system, in processes of their own."""

import platform
import subprocess
import sys

import pytest

from kafka_lagoon.freed_memory import give_back_freed_memory

_SCRIPT = """
import sys
from pathlib import Path
from kafka_lagoon.freed_memory import give_back_freed_memory

if sys.argv[1] == "give back":
    give_back_freed_memory()
once = bytearray(30 << 20)
del once
large, small = [], []
for _ in range(200):
    large.append(bytearray(300 << 10))
    small.append(bytearray(2_000))
del large
print(int(Path("/proc/self/statm").read_text().split()[1]) * 4)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries are left as they are")
def test_large_blocks_are_given_back() -> None:
    """60 MB in blocks between small ones are kept by the process, or given back."""
    kept, given_back = (
        int(subprocess.run([sys.executable, "-c", _SCRIPT, how], capture_output=True, check=True).stdout)
        for how in ("keep", "give back")
    )
    assert kept - given_back > 50_000


def test_another_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without mallopt nothing happens."""
    monkeypatch.setattr("ctypes.CDLL", lambda _: object())
    give_back_freed_memory()
