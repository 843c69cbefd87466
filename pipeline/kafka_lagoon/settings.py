"""Loads the settings of a run from a TOML file, a Java client's properties, the environment and the command line.

All faults are listed together, before any I/O. Messages never contain secrets.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from kafka_lagoon import java_properties, kafka_settings
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.job_settings import (
    IngestSettings,
    MetricsSettings,
    RecordsSettings,
    RestoreSettings,
    RetentionSettings,
    SnapshotSettings,
    SqlSettings,
    Strict,
)
from kafka_lagoon.kafka_settings import (
    DEFAULT_CLUSTER,
    ENV_PREFIX,
    SERVERS_BESIDE_CLUSTERS,
    VARIABLE_BESIDE_CLUSTERS,
    KafkaSettings,
    from_properties,
    is_setting,
    no_such_cluster,
)
from kafka_lagoon.owner_settings import NO_OWNERS, NOTHING_EXPECTED, ExpectedSettings, OwnersSettings
from kafka_lagoon.owners import Expectation, Owners
from kafka_lagoon.secret import Secret, is_utf8
from kafka_lagoon.text import did_you_mean, printable
from kafka_lagoon.toml_text import parse_toml
from kafka_lagoon.warehouse_urls import local_folder

NO_PLACE = "no place for the tables: give --warehouse FOLDER, or --conf FILE with warehouse, or with catalog and schema"
NO_CLUSTER = "no cluster: give --conf FILE with [kafka] or [clusters.NAME], or --set kafka.bootstrap_servers=HOST:PORT"
_RELATIONS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
_SECTION = "must be a section with settings of its own"
_REQUIREMENTS = {  # by the first word of pydantic's type of error
    "missing": "must be set",
    "string": "must be text",
    "is": "must be text",  # is_instance_of: a secret
    "int": "must be a whole number",
    "finite": "must be a whole number",  # nan and inf
    "bool": "must be true or false",
    "date": "must be a date such as 2026-12-24",
    **dict.fromkeys(("model", "dataclass", "dict", "mapping"), _SECTION),
}
_UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")  # a field of a pydantic model, a field of a dataclass
_FORMER = {"ingest.patience_ms": "stall_timeout_ms"}  # words: ok, the name of a setting in 0.1.0
_DAY_MS = 86_400_000
_NO_KEY = re.compile(r"[^\w.-]")
_QUOTE, _QUOTED_NOTHING = "'", "''"


class Settings(BaseSettings):
    """Every setting of the jobs and of `lagoon`."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="forbid", frozen=True, hide_input_in_errors=True)

    warehouse: str | None = Field(
        None,
        description="Folder or URL under which the tables live, one folder each. A relative path in a file of settings is "
        "relative to the file's folder, elsewhere to the current folder.",
    )
    create: bool = Field(
        default=False,
        description="Create a warehouse that does not exist. Without it, and without --create, a run makes one only if the "
        "folder above it exists and is empty: a typo must not start a second history.",
    )
    catalog: str | None = Field(None, description="Spark catalog that holds the tables, instead of `warehouse`.")
    schema_name: str | None = Field(None, validation_alias="schema", description="Schema in `catalog`.")
    umask: str | None = Field(
        None,
        description="Permissions that new files do not have (umask), in octal digits: with 027 the user's group can read them. "
        "Unset: the permissions that an existing warehouse folder does not have, else 077: only the user can read them.",
    )
    kafka: KafkaSettings | None = Field(None, description="The one cluster, called `default` in the tables.")
    clusters: Mapping[str, KafkaSettings] = Field({}, description="Several clusters by name, instead of `kafka`.")
    snapshot: SnapshotSettings = Field(
        SnapshotSettings(), description="Time limits, coverage and strictness of snapshots."
    )
    ingest: IngestSettings = Field(
        IngestSettings(), description="Records that an ingest reads, and limits of its memory and time."
    )
    records: RecordsSettings = Field(RecordsSettings(), description="Format and writer of the files of table records.")
    restore: RestoreSettings = Field(RestoreSettings(), description="Limits and codec of restores.")
    retention: RetentionSettings = Field(RetentionSettings(), description="Ages at which data is removed.")
    sql: SqlSettings = Field(SqlSettings(), description="Limits of DuckDB's queries on this machine.")
    metrics: MetricsSettings = Field(MetricsSettings(), description="Metrics of runs for Prometheus.")
    owners: OwnersSettings = Field(NO_OWNERS, description="Teams that own topics and groups.")
    expected: ExpectedSettings = Field(NOTHING_EXPECTED, description="Groups that are stopped on purpose.")

    @field_validator("warehouse")
    @classmethod
    def _is_text(cls, value: str | None) -> str | None:
        if value is not None and not is_utf8(value):  # Java and DuckDB can name no such folder
            raise ValueError("must be text in UTF-8")
        return value

    @field_validator("umask")
    @classmethod
    def _is_octal(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch("0?0[0-7]{2}", value):  # the owner must be able to use the files
            raise ValueError("must be 0 and two octal digits, such as 077, 027 or 022")
        return value

    @field_validator("clusters")
    @classmethod
    def _are_names(cls, value: Mapping[str, KafkaSettings]) -> Mapping[str, KafkaSettings]:
        for name in value:
            if not name.strip() or not name.isprintable() or {",", ":"} & set(name):
                raise ValueError(f"{name!r} is not a name of a cluster: options separate names by commas and colons")
        return value

    @model_validator(mode="after")
    def _one_of_each(self) -> "Settings":
        if self.kafka and self.clusters:
            raise ValueError(kafka_settings.BOTH_FORMS)
        if self.warehouse and self.catalog:
            raise ValueError("warehouse and catalog exclude each other")
        if self.schema_name and not self.catalog:
            raise ValueError("schema needs catalog, the catalog that has the schema")
        if self.records.writer == "spark" and not self.records.staging:
            raise ValueError("records.writer spark needs records.staging, a folder for its input files")
        return self

    @model_validator(mode="after")
    def _keeps_published_slots(self) -> "Settings":
        """Require that snapshots are kept while their slot may be requested again, and while a run may refer to them."""
        days = self.retention.snapshots_all_days
        if days is not None and days * _DAY_MS < max(self.snapshot.slot_max_age_ms, self.snapshot.deadline_ms):
            raise ValueError(
                "retention.snapshots_all_days must be as long as snapshot.slot_max_age_ms and snapshot.deadline_ms"
            )
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  pydantic's signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Use only the values that `load` has merged: it reads the environment, too, and reports unknown names there."""
        return (init_settings,)

    def named_clusters(self) -> dict[str, KafkaSettings]:
        """Return every cluster under its name in the tables."""
        return {DEFAULT_CLUSTER: self.kafka} if self.kafka else dict(self.clusters)

    def all_owners(self) -> Owners:
        """Return what [owners] and [expected] say."""
        return Owners(topics=self.owners.topics, groups=self.owners.groups, expected=self.expected.groups)

    def staging(self) -> str | None:
        """Return the folder for files that Spark copies into the tables; None if the pipeline commits files itself."""
        return self.records.staging if self.records.writer == "spark" else None

    def place(self) -> str:
        """Return the location of the tables, for messages."""
        return self.warehouse or f"{self.catalog}.{self.schema_name}"


SECTIONS: Mapping[str, type[Strict]] = {  # beside [kafka] and [clusters.NAME]
    "snapshot": SnapshotSettings,
    "ingest": IngestSettings,
    "records": RecordsSettings,
    "restore": RestoreSettings,
    "retention": RetentionSettings,
    "sql": SqlSettings,
    "metrics": MetricsSettings,
    "owners": OwnersSettings,
    "expected": ExpectedSettings,
}
_OF_OWNERS = ("owners", "expected")  # sections that may be in a file of their own, which `owners` names


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
    sources = [
        of_file,
        _properties(kafka_properties, problems) if kafka_properties else {},
        of_variables := _nested(_environment(environ, of_file, problems), problems),
        _nested(_assignments(overrides, problems), problems),
    ]
    of_options = _nested(_assignments(assigned, problems), problems)
    if isinstance(known := _merged(sources).get("clusters"), dict):
        for source, fault in ((of_variables, VARIABLE_BESIDE_CLUSTERS), (of_options, SERVERS_BESIDE_CLUSTERS)):
            if known and source.pop("kafka", None):
                problems.append(fault.format(known=", ".join(known)))
        problems += [no_such_cluster(name, known) for name in of_options.get("clusters", {}) if name not in known]
    others = _merged(map(_with_logins, sources))

    try:
        settings = Settings.model_validate(_with_owners(_merged([others, of_options]), problems))
    except ValidationError as error:
        raise ConfigError([*problems, *_problems(error)]) from None
    is_read = not (conf and problems)  # a missing setting may be in a file that could not be read
    if is_read and tables_needed and not settings.warehouse and not (settings.catalog and settings.schema_name):
        problems.append(NO_PLACE)
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
    """Make relative paths relative to the file that names them: cron and people start in different folders."""
    paths = {
        name: values[name] for name in ("warehouse", "owners") if isinstance(values.get(name), str) and values[name]
    }
    local = {name: path for name, path in paths.items() if local_folder(path) == Path(path)}
    return {**values, **{name: str(conf.parent / path) for name, path in local.items()}}


def _with_owners(values: dict[str, Any], problems: list[str]) -> dict[str, Any]:
    """Read the file that `owners` names, if it names one: it has the sections [owners] and [expected]."""
    path = values.get("owners")
    if not path or not isinstance(path, str):
        return values
    named, without = f"owners {path}", {name: value for name, value in values.items() if name != "owners"}
    sections = _toml(Path(path), named, problems)
    problems += [
        f"{named}: {name}: no such section{did_you_mean(name, _OF_OWNERS)}"
        for name in sections.keys() - set(_OF_OWNERS)
    ]
    if "expected" in sections.keys() & values.keys():
        problems.append(f"{named}: has [expected], and so have the other settings: keep one of them")
    return {**without, **{name: value for name, value in sections.items() if name in _OF_OWNERS}}


def _properties(path: Path, problems: list[str]) -> dict[str, Any]:
    """Read the properties of a Java client that are settings here; the others are about consumers and producers."""
    try:
        properties = java_properties.read(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"--kafka-properties {path}: {getattr(error, 'strerror', 'not text')}")
        return {}
    kafka, faults = from_properties(properties)
    problems += [f"--kafka-properties {path}: {fault}" for fault in faults]
    return {"kafka": kafka}


def _environment(
    environ: Mapping[str, str], of_file: Mapping[str, Any], problems: list[str]
) -> Iterator[tuple[list[str], str]]:
    known, spelled = _names(), dict[str, str]()
    for name in sorted(environ):
        path = name.removeprefix(ENV_PREFIX).lower().split("__")
        if not is_setting(name):
            continue
        if (other := spelled.setdefault(name.upper(), name)) != name:
            problems.append(f"environment variables {other} and {name} are one setting: capitals do not matter")
        elif path[0] in known:
            yield _spelled(path, of_file), environ[name]
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
        if not key or not separator or (":" in key and path[0] not in _OF_OWNERS):
            # A colon in place of the equals sign: a secret may follow, whose last character may be an equals sign.
            problems.append(f"--set {_NO_KEY.split(key)[0] or '='}: write it as key=value")
        elif path[-1] in kafka_settings.SECRETS and Secret(value).is_text():
            problems.append(
                f"--set {key}: everybody on this machine can read command lines: give it env:NAME or file:/path"
            )
        else:
            yield path, value


def _nested(pairs: Iterator[tuple[list[str], str]], problems: list[str]) -> dict[str, Any]:
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


def _problems(error: ValidationError) -> list[str]:
    """Make one line per faulty setting; for a value of several possible types pydantic has several faults."""
    faults = error.errors(include_input=False, include_url=False)
    lines = (_problem(fault["type"], fault["loc"], fault["msg"], fault.get("ctx", {})) for fault in faults)
    return list(dict.fromkeys(lines))


def _problem(kind: str, location: tuple[int | str, ...], message: str, bounds: Mapping[str, Any]) -> str:
    """Make a line of the setting's dotted name and its fault."""
    path = _setting(location)
    where = ".".join(path)
    if kind in _UNKNOWN_KEY and where in _FORMER:
        return f"{where}: is called {_FORMER[where]} now"
    if kind in _UNKNOWN_KEY:
        return f"{where}: no such setting{did_you_mean(path[-1], _names_beside(path)) or _elsewhere(path[-1])}"
    if kind == "value_error":
        message = message.removeprefix("Value error, ")
        return f"{where}: {message}" if where else message
    return f"{where}: {_must(kind, bounds)}"


def _must(kind: str, bounds: Mapping[str, Any]) -> str:
    """Spell the requirement on a value, by pydantic's type of error: its own messages name types of Python."""
    match kind.partition("_")[0]:
        case "greater" | "less":
            ((relation, bound),) = bounds.items()
            return f"must be {_RELATIONS[relation]} {bound}"
        case "literal":
            return f"must be {bounds['expected'].replace(_QUOTED_NOTHING, 'empty').replace(_QUOTE, '')}"
        case type_name:
            return _REQUIREMENTS.get(type_name, "cannot have this value")


def _setting(location: tuple[int | str, ...]) -> tuple[str, ...]:
    """Return the part of pydantic's location that is the name of a setting; the types that pydantic tried come after it."""
    match location:
        case (section, table, str(pattern), *rest) if section in _OF_OWNERS:
            names = () if rest in ([], ["[key]"]) else rest
            return section, str(table), f'"{printable(pattern)}"', *map(str, names)
        case ("clusters", *_):
            length = 3
        case (section, *_) if section == "kafka" or section in SECTIONS:
            length = 2
        case _:
            length = 1
    return tuple(map(str, location[:length]))


def _names_beside(path: Sequence[str]) -> set[str]:
    match path:
        case ("kafka", _) | ("clusters", _, _):
            return set(kafka_settings.NAMES)
        case (section, _) if section in SECTIONS:
            return set(SECTIONS[section].model_fields)
        case ("expected", _, _, _):
            return {field.name for field in fields(Expectation)}
        case _:
            return _names()


def _elsewhere(name: str) -> str:
    """Suggest the right place of a setting that is in the wrong section; empty if no section has a setting of this name."""
    if name in _names() - {"kafka", "clusters", *SECTIONS}:
        return f" ({name} belongs above the first [section])"
    by_section = {"kafka": kafka_settings.NAMES, **{section: cls.model_fields for section, cls in SECTIONS.items()}}
    places = [f"{section}.{name}" for section, names in by_section.items() if name in names]
    return f" (did you mean {' or '.join(places)}?)" if places else ""


def _names() -> set[str]:
    """Return settings and sections of the first level, as they are spelled in a file."""
    return {str(field.validation_alias or name) for name, field in Settings.model_fields.items()}
