"""One of several processes that run the same command at the same moment, round after round.

    python -m tests.proof.races.racer FOLDER NUMBER [--session] [--google PORT]

It waits for FOLDER/round-N with the arguments of round N, writes ready-N-NUMBER, and waits for the barrier go-N. Then it runs
`lagoon` in this process and writes the result to done-N-NUMBER. It ends with its parent. The JVM is started before the first
round and kept, with --session that of a session of Spark, so that rounds begin together and are cheap.
"""

import argparse
import json
import os
import time
from contextlib import ExitStack, nullcontext
from itertools import count
from pathlib import Path

from kafka_lagoon.delta import sessionless
from kafka_lagoon.delta.plain_jvm import plain_kernel
from kafka_lagoon.delta.session import session
from tests.google_store import GoogleStore, reach_google
from tests.jobs.commands import here

_POLL_S = 0.001
PARENT = os.getppid()


def main(folder: Path, number: int, google: int | None, *, has_session: bool) -> None:
    """Run rounds as long as there are any."""
    with ExitStack() as stack:
        if has_session:
            spark = session("race")
            if google:
                reach_google(spark, GoogleStore(google), {name: os.environ[name] for name in _OF_ARROW})
        else:
            kernel = stack.enter_context(plain_kernel(str(folder)))
            sessionless.plain_kernel = lambda _warehouse, _starting=None: nullcontext(kernel)  # type: ignore[assignment]
        for round_number in count(1):
            if not _waited_for(folder, f"round-{round_number}"):
                return
            arguments = json.loads((folder / f"round-{round_number}").read_text())[number]
            (folder / f"ready-{round_number}-{number}").touch()
            if not _waited_for(folder, f"go-{round_number}"):
                return
            started = time.time()
            done = here(*arguments)
            report = {"exit": done.returncode, "output": done.stdout + done.stderr, "from": started, "to": time.time()}
            write_whole(folder / f"done-{round_number}-{number}", json.dumps(report))


_OF_ARROW = ("CLOUD_STORAGE_EMULATOR_ENDPOINT", "GOOGLE_APPLICATION_CREDENTIALS")


def write_whole(path: Path, text: str) -> None:
    """Write a file that others never see in part."""
    part = path.with_name(f".{path.name}")
    part.write_text(text)
    part.rename(path)


def _waited_for(folder: Path, name: str) -> bool:
    """Wait for a file; return False if nobody starts rounds any more."""
    path = folder / name
    while not path.exists():
        if os.getppid() != PARENT:
            return False
        time.sleep(_POLL_S)
    return True


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("number", type=int)
    parser.add_argument("--session", action="store_true")
    parser.add_argument("--google", type=int, metavar="PORT")
    options = parser.parse_args()
    main(options.folder, options.number, options.google, has_session=options.session)
