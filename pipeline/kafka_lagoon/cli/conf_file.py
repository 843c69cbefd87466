"""Finds the settings file of a command: --conf, else LAGOON_CONF, else lagoon.toml of the current folder.

A file that no option names decides where passwords are sent. So lagoon.toml is read only if it belongs to this user or to root,
and if others cannot write to it. A link there must belong to one of them, too: whoever made it chooses the file.
"""

import os
import stat
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.kafka_settings import CONF_VARIABLE

FILE_NAME = "lagoon.toml"
_ROOT = 0


@frozen(kw_only=False)
class ConfFile:
    """A settings file, and what names it: an option, a variable or the current folder; `path` is None if there is none."""

    path: Path | None
    named_by: str = "--conf"

    @property
    def is_implied(self) -> bool:
        """Return True if the command line does not name the file."""
        return self.path is not None and self.named_by != "--conf"

    @property
    def whole_path(self) -> Path | None:
        """Return the absolute path, or the path as given if the current folder was deleted, which has no path then."""
        try:
            return self.path and self.path.absolute()
        except FileNotFoundError:
            return self.path

    def __str__(self) -> str:
        """Spell the file for people."""
        if self.path is None:
            return "options and environment"
        return f"{self.whole_path} (by {self.named_by})" if self.is_implied else str(self.path)


def conf_file(options: Namespace, environ: Mapping[str, str]) -> ConfFile:
    """Find the settings file; an empty LAGOON_CONF means none. ConfigError if lagoon.toml here is not ours alone."""
    if options.conf is not None:
        return ConfFile(options.conf)
    named = environ.get(CONF_VARIABLE)
    if named is not None:
        return ConfFile(Path(named), CONF_VARIABLE) if named else ConfFile(None)
    path = Path(FILE_NAME)
    try:
        state, link = path.stat(), path.lstat()
    except OSError:
        return ConfFile(None)
    if not {state.st_uid, link.st_uid} <= {os.geteuid(), _ROOT} or state.st_mode & stat.S_IWOTH:
        raise ConfigError(
            [f"{path.absolute()} can be altered by other users: --conf {path} reads it, {CONF_VARIABLE}= reads no file"]
        )
    return ConfFile(path, "the current folder")
