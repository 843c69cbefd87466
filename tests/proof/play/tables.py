"""Changes to the tables by other engines, beside whatever runs."""

from contextlib import suppress
from typing import ClassVar

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from tests.proof.play.world import World


class OtherEngines:
    """deltalake rewrites, removes and checkpoints files."""

    verbs: ClassVar = ("foreign",)

    def __init__(self, world: World) -> None:
        self._world = world
        self.is_compacted = False  # by another engine, which puts files together in any order

    def foreign(self, action: str, table: str) -> None:
        """Let deltalake rewrite, remove or checkpoint files of a table."""
        folder = self._world.place.warehouse / table
        if not (folder / "_delta_log").is_dir():
            return
        opened = DeltaTable(str(folder))
        with suppress(CommitFailedError):
            match action:
                case "compact":
                    self.is_compacted |= table == "records"
                    done = opened.optimize.compact()["numFilesAdded"] > 0
                case "vacuum":
                    opened.vacuum(dry_run=False)
                    done = True
                case "checkpoint":
                    opened.create_checkpoint()
                    done = True
            self._world.happened[f"foreign {action}"] += done
