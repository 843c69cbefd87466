"""Loads settings, and sets the umask: new files are the user's alone, unless settings or the warehouse's folder allow more.

Records, reports and plans hold data that the cluster itself shows only to users with permissions.
"""

import os
import stat
from argparse import Namespace
from collections.abc import Mapping, Sequence

from kafka_lagoon import log
from kafka_lagoon.cli.conf_file import ConfFile, conf_file
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.kafka_settings import CONF_VARIABLE
from kafka_lagoon.owned_files import PRIVATE
from kafka_lagoon.settings import Settings
from kafka_lagoon.settings_sources import load
from kafka_lagoon.warehouse_settings import creation_fault
from kafka_lagoon.warehouse_urls import local_folder


def loaded(options: Namespace, environ: Mapping[str, str], assigned: Sequence[str] = (), **needed: bool) -> Settings:
    """Load the settings that the options name, with those in `assigned`, and set the umask for all files from then on.

    `needed` is passed to `settings_sources.load`: cluster_needed and tables_needed. Faults name a settings file that no option
    names.
    """
    conf = conf_file(options, environ)
    try:
        return loaded_from(conf, options, environ, assigned, **needed)
    except ConfigError as error:
        source = [f"settings are those of {conf}; {CONF_VARIABLE}= reads no file"] if conf.is_implied else []
        raise ConfigError([*error.problems, *source]) from None


def loaded_from(
    conf: ConfFile, options: Namespace, environ: Mapping[str, str], assigned: Sequence[str] = (), **needed: bool
) -> Settings:
    """Load the settings as `loaded` does, from a file that is already chosen; faults do not name the file."""
    properties = options.kafka_properties
    settings = load(conf.path, environ, options.set, properties, assigned, conf_named_by=conf.named_by, **needed)
    os.umask(umask := umask_of(settings))
    log.open_to(umask)
    return settings


def check_creation(settings: Settings) -> None:
    """Refuse to create a warehouse that nobody has asked for; ConfigError says how to ask."""
    if fault := creation_fault(settings):
        raise ConfigError([fault])


def umask_of(settings: Settings) -> int:
    """Return the umask of the settings, or else the one that gives new files the permissions of the warehouse's folder.

    New files are never writable for everybody, even in a folder such as /tmp, and always readable and writable for their owner.
    """
    if settings.umask is not None:
        return int(settings.umask, 8)
    folder = local_folder(settings.warehouse) if settings.warehouse else None
    try:
        return PRIVATE if folder is None else PRIVATE & ~folder.stat().st_mode | stat.S_IWOTH
    except OSError:  # the folder does not exist yet
        return PRIVATE
