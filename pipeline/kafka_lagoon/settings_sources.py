"""Loads the settings of a run from a TOML file, a Java client's properties, the environment and the command line.

All faults are listed together, before any I/O. Messages never contain secrets.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os.path import normpath
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kafka_lagoon import java_properties, kafka_settings
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.kafka_settings import (
    ENV_PREFIX,
    SERVERS_BESIDE_CLUSTERS,
    VARIABLE_BESIDE_CLUSTERS,
    from_properties,
    is_setting,
    no_such_cluster,
)
from kafka_lagoon.secret import Secret
from kafka_lagoon.settings import NO_PLACE, OF_OWNERS, Settings, top_level_names
from kafka_lagoon.settings_faults import problems_of
from kafka_lagoon.text import did_you_mean
from kafka_lagoon.toml_text import parse_toml
from kafka_lagoon.warehouse_urls import local_folder

NO_CLUSTER = "no cluster: give --conf FILE with [kafka] or [clusters.NAME], or --set kafka.bootstrap_servers=HOST:PORT"
_NO_KEY = re.compile(r"[^\w.-]")


def load(
    conf: Path | None,
    environ: Mapping[str, str],
    overrides: Sequence[str] = (),
    kafka_properties: Path | None = None,
    assigned: Sequence[str] = (),
    *,
    conf_named_by: str = "--conf",
    cluster_needed: bool = True,
    tables_needed: bool = True,
) -> Settings:
    """Load settings from a TOML file, a Kafka `client.properties`, `LAGOON_...` and `key=value`; later sources win.

    `assigned` has the settings of options such as `--bootstrap-servers`. ConfigError lists every fault. These are faults, too:

    - an environment variable that names no setting
    - a cluster in `assigned`, if other sources have clusters and none of that name
    - a variable or an option for [kafka] beside clusters
    - no cluster if `cluster_needed`, no warehouse or catalog if `tables_needed`
    """
    problems: list[str] = []
    of_file = _beside(conf, _toml(conf, f"{conf_named_by} {conf}", problems)) if conf else {}
    of_properties = _properties(kafka_properties, problems) if kafka_properties else {}
    variables = list(_environment(environ, of_file, problems))
    set_by_hand, by_options = list(_assignments(overrides, problems)), list(_assignments(assigned, problems))
    sources = [
        of_file,
        of_properties,
        of_variables := _nested(((path, value) for _, path, value in variables), problems),
        _nested(set_by_hand, problems),
    ]
    of_options = _nested(by_options, problems)
    replaced = [path for path, _ in (*set_by_hand, *by_options)]
    # Whoever looks for a fault in the file does not find it there.
    named = {tuple(path): f"environment variable {name}" for name, path, _ in variables if path not in replaced}
    if isinstance(known := _merged(sources).get("clusters"), dict):
        for source, fault in ((of_variables, VARIABLE_BESIDE_CLUSTERS), (of_options, SERVERS_BESIDE_CLUSTERS)):
            if known and source.pop("kafka", None):
                problems.append(fault.format(known=", ".join(known)))
        problems += [no_such_cluster(name, known) for name in of_options.get("clusters", {}) if name not in known]
    others = _merged(map(_with_logins, sources))

    try:
        settings = Settings.model_validate(_with_owners(_merged([others, of_options]), problems))
    except ValidationError as error:
        raise ConfigError([*problems, *problems_of(error, named)]) from None
    is_read = not (conf and problems)  # a missing setting may be in a file that could not be read
    if is_read and tables_needed and not settings.has_tables():
        problems.append(f"{NO_PLACE}; {variable} is empty" if (variable := named.get(("warehouse",))) else NO_PLACE)
    if is_read and cluster_needed and not settings.named_clusters():
        problems.append(NO_CLUSTER)
    if problems:
        raise ConfigError(problems)
    return settings


def _with_logins(source: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the JAAS lines of a source by their settings. A faulty line stays, so that validation reports it later."""
    values = dict(source)
    if "kafka" in values:
        values["kafka"] = _with_login(values["kafka"])
    if isinstance(clusters := values.get("clusters"), dict):
        values["clusters"] = {name: _with_login(section) for name, section in clusters.items()}
    return values


def _with_login(section: Any) -> Any:
    try:
        return kafka_settings.with_login(section)
    except ValueError:
        return section


def _merged(sources: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge sources, section by section; a later value replaces an earlier one."""
    merged: dict[str, Any] = {}
    for source in sources:
        for name, value in source.items():
            are_sections = isinstance(merged.get(name), dict) and isinstance(value, dict)
            merged[name] = _merged([merged[name], value]) if are_sections else value
    return merged


def _toml(path: Path, named: str, problems: list[str]) -> dict[str, Any]:
    try:
        return parse_toml(path.read_text("utf-8-sig"))
    except OSError as error:
        problems.append(f"{named}: {error.strerror}")
    except UnicodeDecodeError:
        problems.append(f"{named}: not text in UTF-8")
    except ValueError as error:  # tomllib raises it for faults, and also for a number with thousands of digits
        problems.append(f"{named}: not TOML: {error}")
    return {}


def _beside(conf: Path, values: dict[str, Any]) -> dict[str, Any]:
    """Make relative paths relative to the file that names them: cron and people start in different folders.

    A warehouse below `~` stays as it is written, and is refused so.
    """
    paths = {
        name: values[name] for name in ("warehouse", "owners") if isinstance(values.get(name), str) and values[name]
    }
    local = {
        name: path for name, path in paths.items() if local_folder(path) == Path(normpath(path)) and path[0] != "~"
    }
    return {**values, **{name: str(conf.parent / path) for name, path in local.items()}}


def _with_owners(values: dict[str, Any], problems: list[str]) -> dict[str, Any]:
    """Read the file that `owners` names, if it names one: it has the sections [owners] and [expected]."""
    path = values.get("owners")
    if not path or not isinstance(path, str):
        return values
    named, without = f"owners {path}", {name: value for name, value in values.items() if name != "owners"}
    sections = _toml(Path(path), named, problems)
    problems += [
        f"{named}: {name}: no such section{did_you_mean(name, OF_OWNERS)}" for name in sections.keys() - set(OF_OWNERS)
    ]
    if "expected" in sections.keys() & values.keys():
        problems.append(f"{named}: has [expected], and so have the other settings: keep one of them")
    return {**without, **{name: value for name, value in sections.items() if name in OF_OWNERS}}


def _properties(path: Path, problems: list[str]) -> dict[str, Any]:
    """Read the properties of a Java client that are settings here; the others are about consumers and producers."""
    try:
        content = path.read_bytes()
    except OSError as error:
        problems.append(f"--kafka-properties {path}: {error.strerror}")
        return {}
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # which Java takes every file for
    if "\0" in text:
        problems.append(f"--kafka-properties {path}: not text")
        return {}
    kafka, faults = from_properties(java_properties.read(text))
    problems += [f"--kafka-properties {path}: {fault}" for fault in faults]
    return {"kafka": kafka}


def _environment(
    environ: Mapping[str, str], of_file: Mapping[str, Any], problems: list[str]
) -> Iterator[tuple[str, list[str], str]]:
    """Yield the variables that name settings: the name, the path of the setting and the value."""
    known, spelled = top_level_names(), dict[str, str]()
    for name in sorted(environ):
        path = name.removeprefix(ENV_PREFIX).lower().split("__")
        if not is_setting(name):
            continue
        if (other := spelled.setdefault(name.upper(), name)) != name:
            problems.append(f"environment variables {other} and {name} are one setting: capitals do not matter")
        elif path[0] in known:
            yield name, _spelled(path, of_file), environ[name]
        else:
            problems.append(f"environment variable {name}: no such setting{did_you_mean(path[0], known)}")


def _spelled(path: list[str], of_file: Mapping[str, Any]) -> list[str]:
    """The path of a variable's setting, with the cluster's name as in the file, because variables have only capitals."""
    clusters = of_file.get("clusters")
    if path[0] != "clusters" or len(path) == 1 or not isinstance(clusters, dict) or path[1] in clusters:
        return path
    alike = [name for name in clusters if name.lower() == path[1]]
    return [path[0], *alike, *path[2:]] if len(alike) == 1 else path


def _assignments(overrides: Sequence[str], problems: list[str]) -> Iterator[tuple[list[str], str]]:
    for text in overrides:
        key, separator, value = (part.strip() for part in text.partition("="))
        path = key.split(".")
        if not key or not separator or (":" in key and path[0] not in OF_OWNERS):
            # A colon in place of the equals sign: a secret may follow, whose last character may be an equals sign.
            problems.append(f"--set {_NO_KEY.split(key)[0] or '='}: write it as key=value")
        elif path[-1] in kafka_settings.SECRETS and Secret(value).is_text():
            problems.append(
                f"--set {key}: everybody on this machine can read command lines: give it env:NAME or file:/path"
            )
        else:
            yield path, value


def _nested(pairs: Iterable[tuple[list[str], str]], problems: list[str]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in pairs:
        branch = tree
        for part in path[:-1]:
            branch = branch.setdefault(part, {}) if isinstance(branch, dict) else {}
        if isinstance(branch, dict) and not isinstance(branch.get(path[-1]), dict):
            branch[path[-1]] = value
        else:
            problems.append(f"{'.'.join(path)}: is set as a value and as a section")
    return tree
