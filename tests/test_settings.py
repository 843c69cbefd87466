"""Settings come from several sources in order; all faults are listed at once, by the names of settings."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kafka_lagoon import kafka_settings
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.kafka_settings import BOTH_FORMS, NAMES
from kafka_lagoon.secret import Secret
from kafka_lagoon.settings import NO_PLACE, SECTIONS, Settings
from kafka_lagoon.settings_sources import load
from tests.attributes import attributes_of
from tests.documents import ROOT, blocks, page
from tests.plain_lines import python_in

MINIMAL = 'warehouse = "/lake"\n[kafka]\nbootstrap_servers = "one:9092"\n'


def conf(folder: Path, text: str) -> Path:
    path = folder / "conf.toml"
    path.write_text(text)
    return path


def faults(
    folder: Path, text: str, environ: dict[str, str] | None = None, overrides: tuple[str, ...] = ()
) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        load(conf(folder, text), environ or {}, overrides)
    return list(raised.value.problems)


def test_every_setting_is_read() -> None:
    """A setting that no code reads is accepted and does nothing. Only the types of stores are: the files tell them."""
    read = attributes_of(ROOT / "pipeline" / "kafka_lagoon")
    sections = ((f"{section}.", model.model_fields) for section, model in SECTIONS.items())
    declared = (("", Settings.model_fields), ("kafka.", NAMES), *sections)
    unread = {f"{section}{name}" for section, names in declared for name in names if name not in read}
    assert unread == {"kafka.ssl_truststore_type", "kafka.ssl_keystore_type"}, (
        "read a new setting where it has its effect"
    )


def test_later_sources_win(tmp_path: Path) -> None:
    """A file is overridden by client.properties, these by the environment, and that by --set."""
    properties = tmp_path / "client.properties"
    properties.write_text("# a comment\nbootstrap.servers = two:9092\nclient.id=two\nmax.poll.records=1\n")
    path = conf(tmp_path, MINIMAL + 'client_id = "one"\nrequest_timeout_ms = 1\n')
    environ = {"LAGOON_KAFKA__CLIENT_ID": "three", "LAGOON_KAFKA__REQUEST_TIMEOUT_MS": "3", "PATH": "/bin"}
    settings = load(path, environ, ["kafka.request_timeout_ms=4"], properties)
    assert settings.kafka is not None
    assert settings.kafka.bootstrap_servers == "two:9092"
    assert settings.kafka.client_id == "three"
    assert settings.kafka.request_timeout_ms == 4


def test_the_page_shows_several_clusters(tmp_path: Path) -> None:
    """The example of docs/settings.md loads, and the cluster of a former [kafka] keeps its name in the tables."""
    (example,) = [one for one in blocks(page("settings"), "toml") if "[clusters." in one]
    clusters = load(conf(tmp_path, example), {"SPARE_PASSWORD": "x"}).named_clusters()
    assert {name: kafka.bootstrap_servers for name, kafka in clusters.items()} == {
        "default": "kafka-1:9092,kafka-2:9092",
        "spare": "spare-1:9093",
    }
    assert clusters["spare"].security_protocol == "SASL_SSL"
    assert BOTH_FORMS.count("[clusters.default]") == 1


def test_clusters_keep_their_names(tmp_path: Path) -> None:
    """A single cluster is named `default`; several have the names of their sections."""
    single = load(conf(tmp_path, MINIMAL), {})
    assert list(single.named_clusters()) == ["default"]
    text = 'warehouse = "/lake"\n[clusters.a]\nbootstrap_servers = "a:1"\n[clusters.b]\nbootstrap_servers = "b:2"\n'
    several = load(conf(tmp_path, text), {})
    assert {name: kafka.bootstrap_servers for name, kafka in several.named_clusters().items()} == {
        "a": "a:1",
        "b": "b:2",
    }


def test_servers_of_no_cluster(tmp_path: Path) -> None:
    """Beside several clusters, the fault names what gave the servers, and how that names a cluster."""
    text = 'warehouse = "/lake"\n[clusters.default]\nbootstrap_servers = "a:1"\n[clusters.spare]\nbootstrap_servers = "b:2"\n'
    path = conf(tmp_path, text)
    with pytest.raises(ConfigError) as raised:
        load(path, {"LAGOON_KAFKA__BOOTSTRAP_SERVERS": "c:3"}, assigned=["kafka.bootstrap_servers=c:3"])
    assert list(raised.value.problems) == [
        "LAGOON_KAFKA__... beside [clusters.NAME]: LAGOON_CLUSTERS__NAME__... (default, spare) says whose setting it is",
        "-b beside [clusters.NAME]: --cluster NAME (default, spare) says whose servers it replaces",
    ]
    with pytest.raises(ConfigError) as raised:
        load(path, {}, ["kafka.bootstrap_servers=c:3"])
    assert list(raised.value.problems) == [BOTH_FORMS]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            MINIMAL + 'warehouse = "/w"\n',
            "kafka.warehouse: no such setting (warehouse belongs above the first [section])",
        ),
        (MINIMAL + 'schema = "s"\n', "kafka.schema: no such setting (schema belongs above the first [section])"),
        (MINIMAL + "[retention]\npattern = 'a'\n", "retention.pattern: no such setting (did you mean ingest.pattern?)"),
        ("pattern = 'a'\n" + MINIMAL, "pattern: no such setting (did you mean ingest.pattern?)"),
        (
            MINIMAL + "[sql]\ndeadline_ms = 1\n",
            "sql.deadline_ms: no such setting (did you mean snapshot.deadline_ms or ingest.deadline_ms?)",
        ),
        (
            'warehouse = "/w"\n[clusters.a]\nbootstrap_servers = "a:1"\nwarehouse = "/w"\n',
            "clusters.a.warehouse: no such setting (warehouse belongs above the first [section])",
        ),
        (
            MINIMAL + "[ingest]\nbootstrap_servers = 'a:1'\n",
            "ingest.bootstrap_servers: no such setting (did you mean kafka.bootstrap_servers?)",
        ),
        (MINIMAL + "[sql]\nfrobnicate = 1\n", "sql.frobnicate: no such setting"),
        # of 0.1.0; the name that is nearest is that of another limit
        (
            MINIMAL + "[ingest]\npatience_ms = 1\n",  # words: ok, as above
            "ingest.patience_ms: is called stall_timeout_ms now",  # words: ok
        ),
    ],
)
def test_a_setting_in_the_wrong_section(tmp_path: Path, text: str, line: str) -> None:
    """The line names the section that has the setting, or says that it is above all sections."""
    assert faults(tmp_path, text) == [line]


def test_all_faults_are_listed_at_once(tmp_path: Path) -> None:
    """One run of a command shows every mistake, with the name of the setting and a suggestion."""
    lines = faults(
        tmp_path,
        'warehose = "/lake"\n[kafka]\nboostrap_servers = "one:9092"\n',
        {"LAGOON_SNAPSHOTS__DEADLINE_MS": "5"},
        ("nonsense",),
    )
    assert any(line.startswith("warehose: no such setting (did you mean warehouse?)") for line in lines)
    assert any(
        line.startswith("kafka.boostrap_servers: no such setting (did you mean bootstrap_servers?)") for line in lines
    )
    assert any("LAGOON_SNAPSHOTS__DEADLINE_MS" in line and "did you mean snapshot?" in line for line in lines)
    assert "--set nonsense: write it as key=value" in lines
    assert "--set =: write it as key=value" in faults(tmp_path, MINIMAL, {}, ("=5",))


@pytest.mark.parametrize("name", ["", " ", "a,b", "a:b", "a\\u001b"])
def test_names_that_clusters_cannot_have(tmp_path: Path, name: str) -> None:
    """Options separate names of clusters by commas, and a cluster and its topic by a colon."""
    (line,) = faults(tmp_path, f'warehouse = "/w"\n[clusters."{name}"]\nbootstrap_servers = "a:1"\n')
    assert "is not a name of a cluster" in line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'warehouse = "/lake"\n',
            "no cluster: give --conf FILE with [kafka] or [clusters.NAME], or --set kafka.bootstrap_servers=HOST:PORT",
        ),
        ('[kafka]\nbootstrap_servers = "one:9092"\n', NO_PLACE),
        (
            'warehouse = "/lake"\n[kafka]\nbootstrap_servers = "one"\n',
            "kafka.bootstrap_servers: 'one' is not host:port",
        ),
        (MINIMAL + "[clusters.a]\nbootstrap_servers = 'a:1'\n", BOTH_FORMS),
        (MINIMAL.replace("[kafka]", 'catalog = "c"\n[kafka]'), "warehouse and catalog exclude each other"),
        ("warehouse = \n", "not TOML"),
        ("a = " + "[" * 5_000, "not TOML: values are nested too deeply"),
    ],
)
def test_a_fault_is_named(tmp_path: Path, text: str, expected: str) -> None:
    """Each mistake has its own line, which says what to do."""
    assert any(expected in line for line in faults(tmp_path, text))


def test_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    """A missing --conf file is bad configuration, not a traceback."""
    with pytest.raises(ConfigError, match="No such file"):
        load(tmp_path / "absent.toml", {})


@pytest.mark.parametrize("raw", [b"\xff", b"a = " + b"9" * 5_000, b"a = [", b"= 5", b"\x00"])
def test_a_file_that_is_no_toml(tmp_path: Path, raw: bytes) -> None:
    """A file that cannot be decoded gives one plain line."""
    path = tmp_path / "conf.toml"
    path.write_bytes(raw)
    with pytest.raises(ConfigError) as raised:
        load(path, {}, cluster_needed=False, tables_needed=False)
    (line,) = raised.value.problems
    assert line.startswith(f"--conf {path}: not ")
    assert python_in(line) == []
    assert "codec" not in line


def test_values_are_never_shown(tmp_path: Path) -> None:
    """A wrong value may be a misplaced secret, so it is not repeated."""
    lines = faults(tmp_path, MINIMAL + 'request_timeout_ms = "hunter2"\n')
    assert len(lines) == 1
    assert "hunter2" not in lines[0]


SECTION_NAMES = ["kafka", *SECTIONS, "clusters"]
WRONG = ("-7", "5", "1.5", "nan", "true", '"hunter2"', '""', '["hunter2"]', '{a = "hunter2"}', "1979-05-27", "9" * 40)


@pytest.mark.parametrize("section", ["", "kafka", *SECTIONS, "clusters.prod"])
@pytest.mark.parametrize("value", WRONG)
def test_wrong_values_in_plain_words(tmp_path: Path, section: str, value: str) -> None:
    """Each line names a setting once and says what it must be, without types of Python or pydantic, and without the value."""
    names = [str(field.validation_alias or name) for name, field in Settings.model_fields.items()]
    keys = [name for name in names if name not in SECTION_NAMES]
    if section:
        keys = list(SECTIONS[section].model_fields) if section in SECTIONS else sorted(NAMES)
    given = dict.fromkeys(keys, value) | ({"bootstrap_servers": '"a:1"'} if "hunter2" in value else {})
    text = "".join(f"{name} = {text}\n" for name, text in given.items() if name in keys)
    with pytest.raises(ConfigError) as raised:
        load(conf(tmp_path, f"[{section}]\n{text}" if section else text), {})
    lines = raised.value.problems
    _check_lines(lines)
    located = [line.partition(": ")[0].partition('."')[0] for line in lines]  # without a pattern and what follows it
    assert {where for where in located if where.count(".")} <= {section, *(f"{section}.{name}" for name in keys)}


def test_an_array_is_comma_separated_text(tmp_path: Path) -> None:
    """Names with commas in them would become several."""
    text = 'warehouse = "/lake"\n[kafka]\nbootstrap_servers = ["a:1", "b:2"]\nallowed_brokers = ["*:1", "*:2"]\n'
    text += (
        'sasl_oauthbearer_allowed_urls = ["https://a", "https://b"]\nssl_enabled_protocols = ["TLSv1.2", "TLSv1.3"]\n'
    )
    sections = '[ingest]\ntopics = ["t", "u"]\n[snapshot]\nskip_tables = ["acls", "quotas"]\n'
    settings = load(conf(tmp_path, text + sections), {})
    kafka = settings.named_clusters()["default"]
    assert (kafka.bootstrap_servers, kafka.allowed_brokers) == ("a:1,b:2", "*:1,*:2")
    assert kafka.sasl_oauthbearer_allowed_urls == "https://a,https://b"
    assert kafka.ssl_enabled_protocols == "TLSv1.2,TLSv1.3"
    assert (settings.ingest.topics, settings.snapshot.skip_tables) == ("t,u", "acls,quotas")
    for wrong in ('["a:1,b:2"]', '["a:1", 2]'):
        assert faults(tmp_path, text.replace('["a:1", "b:2"]', wrong)) == ["kafka.bootstrap_servers: must be text"]


def test_an_empty_pattern_is_unset(tmp_path: Path) -> None:
    """An empty variable must not leave all topics out of a snapshot that is called complete."""
    environ = {"LAGOON_SNAPSHOT__TOPICS": "", "LAGOON_SNAPSHOT__GROUPS": ""}
    snapshot = load(conf(tmp_path, MINIMAL + '[snapshot]\ngroups = "a.*"\n'), environ).snapshot
    assert (snapshot.topics, snapshot.groups) == (None, None)


@pytest.mark.parametrize("value", ["true", "false", "nan", "inf", "1.5"])
@pytest.mark.parametrize(
    "name",
    ["kafka.request_timeout_ms", "kafka.max_bytes_per_second", "snapshot.deadline_ms", "retention.records_days"],
)
def test_what_is_no_whole_number(tmp_path: Path, name: str, value: str) -> None:
    """A switch is none: `records_days = true` would keep the records of one day."""
    section, _, key = name.partition(".")
    text = f"[{section}]\n{key} = {value}\n"
    text = text if section == "kafka" else f'[kafka]\nbootstrap_servers = "a:1"\n{text}'
    overrides = ("warehouse=/lake", "kafka.bootstrap_servers=a:1")
    assert faults(tmp_path, text, {}, overrides) == [f"{name}: must be a whole number"]


@pytest.mark.parametrize(
    ("in_file", "named"), [(["Prod"], "Prod"), (["prod", "Prod"], "prod"), ([], "prod"), (["other"], "prod")]
)
def test_a_variable_names_a_cluster_as_the_file_spells_it(tmp_path: Path, in_file: list[str], named: str) -> None:
    """Names of variables have capitals only, those of clusters may have some."""
    text = "".join(f'[clusters.{name}]\nbootstrap_servers = "k:9092"\n' for name in in_file)
    environ = {"LAGOON_CLUSTERS__PROD__BOOTSTRAP_SERVERS": "other:9092"}
    clusters = load(conf(tmp_path, f'warehouse = "w"\n{text}'), environ).named_clusters()
    assert clusters.keys() == {*in_file, named}
    assert clusters[named].bootstrap_servers == "other:9092"


def test_variables_that_differ_in_capitals_only(tmp_path: Path) -> None:
    """Which one is meant is not known, and the last one of the alphabet was taken."""
    environ = {"LAGOON_WAREHOUSE": "/a", "LAGOON_warehouse": "/b", "LAGOON_KAFKA__BOOTSTRAP_SERVERS": "a:1"}
    line = "environment variables LAGOON_WAREHOUSE and LAGOON_warehouse are one setting: capitals do not matter"
    assert faults(tmp_path, "", environ) == [line]


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("KAFKA__REQUEST_TIMEOUT_MS", "soon", "must be a whole number"),
        ("KAFKA__REQUEST_TIMEOUTMS", "1", "no such setting (did you mean request_timeout_ms?)"),
        ("KAFKA__BOOTSTRAP_SERVERS", "", "'' is not host:port"),
        ("KAFKA__SASL__PASSWORD", "text", "no such setting"),
        ("INGEST__CHECK_CRCS", "maybe", "must be true or false"),
        ("INGEST", "maybe", "must be a section with settings of its own"),
    ],
)
def test_a_fault_of_a_variable_names_the_variable(tmp_path: Path, name: str, value: str, fault: str) -> None:
    """Whoever looks for the fault in the file does not find it there. A variable that an option replaces has no fault."""
    assert faults(tmp_path, MINIMAL, {f"LAGOON_{name}": value}) == [f"environment variable LAGOON_{name}: {fault}"]
    environ = {"LAGOON_KAFKA__REQUEST_TIMEOUT_MS": "soon"}
    overrides = ("kafka.request_timeout_ms=later",)
    assert faults(tmp_path, MINIMAL, environ, overrides) == ["kafka.request_timeout_ms: must be a whole number"]


def test_an_empty_variable_leaves_no_place(tmp_path: Path) -> None:
    """The warehouse of the file is replaced by nothing, as by a variable of Compose that is not set: the line says so."""
    line = f"{NO_PLACE}; environment variable LAGOON_WAREHOUSE is empty"
    assert faults(tmp_path, MINIMAL, {"LAGOON_WAREHOUSE": ""}) == [line]


@pytest.mark.parametrize("value", WRONG)
def test_sections_that_are_none(tmp_path: Path, value: str) -> None:
    """A value in place of a section is refused in plain words, from any source; a text in place of [owners] names a file."""
    names = [name for name in SECTION_NAMES if name != "owners" or not value.startswith('"')]
    text = "".join(f"{name} = {value}\n" for name in names)
    _check_lines(faults(tmp_path, text))
    _check_lines(faults(tmp_path, f"[clusters]\nprod = {value}\n"))
    plain = value.strip('"')
    _check_lines(faults(tmp_path, "", {"LAGOON_KAFKA": plain, "LAGOON_CLUSTERS__PROD": plain}))
    _check_lines(
        faults(tmp_path, "", {}, (f"kafka={plain}", f"kafka.client_id={plain}", f"snapshot.deadline_ms.a={plain}"))
    )


def _check_lines(lines: Sequence[str]) -> None:
    assert lines
    assert len(set(lines)) == len(lines)
    assert [found for line in lines for found in python_in(line)] == []
    assert "hunter2" not in "".join(lines)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kafka.client_id=5", None),  # text is kept
        ("snapshot.deadline_ms=soon", "snapshot.deadline_ms: must be a whole number"),
        ("snapshot.deadline_ms=0", "snapshot.deadline_ms: must be above 0"),
        ("snapshot.lock_wait_ms=-1", "snapshot.lock_wait_ms: must be at least 0"),
        ("ingest.batch_limit_mb=2048", "ingest.batch_limit_mb: must be at most 2047"),
        ("sql.threads=100000", "sql.threads: must be at most 4096"),
        ("sql.memory_mb=17592186044416", "sql.memory_mb: must be at most 1099511627776"),
        ("sql.spill_mb=17592186044416", "sql.spill_mb: must be at most 1099511627776"),
        ("sql.timeout_ms=9000000000000000", "sql.timeout_ms: must be at most 2147483647"),
        ("ingest.check_crcs=maybe", "ingest.check_crcs: must be true or false"),
        ("records.writer=me", "records.writer: must be kernel or spark"),
        (
            "kafka.ssl_endpoint_identification_algorithm=x",
            "kafka.ssl_endpoint_identification_algorithm: must be https or empty",
        ),
        ("kafka.request_timeout_ms=3000000000", "kafka.request_timeout_ms: must be at most 2147483647"),
        ("kafka=x", "kafka: is set as a value and as a section"),
        ("schema=x", "schema needs catalog, the catalog that has the schema"),
        ("schem=x", "schem: no such setting (did you mean schema?)"),
    ],
)
def test_what_a_value_must_be(tmp_path: Path, line: str, expected: str | None) -> None:
    """The error is one line, with the limit or the choices."""
    overrides = ("kafka.bootstrap_servers=a:1", line)
    if expected is None:
        load(conf(tmp_path, 'warehouse = "/lake"\n'), {}, overrides)
    else:
        assert faults(tmp_path, 'warehouse = "/lake"\n', {}, overrides) == [expected]


@pytest.mark.parametrize("name", sorted(kafka_settings.SECRETS))
@pytest.mark.parametrize("section", ["kafka", "clusters.east"])
def test_no_secret_stands_on_a_command_line(name: str, section: str) -> None:
    """Other users can see a command line: a reference is required, and the error does not repeat the secret."""
    assert len(kafka_settings.SECRETS) >= 8
    with pytest.raises(ConfigError) as raised:
        load(None, {}, [f"{section}.bootstrap_servers=a:1", f"{section}.{name}=hunter2"], tables_needed=False)
    cure = "everybody on this machine can read command lines: give it env:NAME or file:/path"
    assert f"--set {section}.{name}: {cure}" in raised.value.problems
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "given", ["kafka.sasl_password:hunter2", "kafka.sasl_password: hunter2==", "kafka.sasl_password hunter2"]
)
def test_a_set_without_an_equals_sign(given: str) -> None:
    """The error names the setting, and repeats nothing of a value."""
    with pytest.raises(ConfigError, match=r"--set kafka\.sasl_password: write it as key=value\n") as raised:
        load(None, {}, [given], tables_needed=False)
    assert "hunter2" not in str(raised.value)


def test_a_reference_may_stand_on_a_command_line() -> None:
    """A reference is accepted, because it only names the place of the secret."""
    overrides = ["kafka.bootstrap_servers=a:1", "kafka.sasl_password=env:KAFKA_PASSWORD"]
    settings = load(None, {}, overrides, tables_needed=False)
    assert settings.kafka
    assert settings.kafka.sasl_password == Secret("env:KAFKA_PASSWORD")


@pytest.mark.parametrize(
    ("warehouse", "expected"),
    [
        ("lake", "{folder}/lake"),
        ("../lake", "{folder}/../lake"),
        ("link/../lake", "{folder}/link/../lake"),
        ("/lake", "/lake"),
        ("file:/lake", "file:/lake"),
        ("s3a://b/lake", "s3a://b/lake"),
    ],
)
def test_a_relative_warehouse_is_beside_its_file(tmp_path: Path, warehouse: str, expected: str) -> None:
    """Cron starts in another folder than people. Options and the environment mean the current folder."""
    path = conf(tmp_path, MINIMAL.replace("/lake", warehouse))
    assert load(path, {}).warehouse == expected.format(folder=tmp_path)
    assert load(path, {}, ["warehouse=lake"]).warehouse == "lake"
    assert load(path, {"LAGOON_WAREHOUSE": "lake"}).warehouse == "lake"


def test_a_warehouse_below_a_tilde(tmp_path: Path) -> None:
    """Neither TOML nor a shell replaces ~ there, and --create made a folder of that name, which `rm -r` is dangerous for."""
    line = "warehouse: '~/lake': only shells know what ~ is: write the whole path"
    assert faults(tmp_path, MINIMAL.replace("/lake", "~/lake")) == [line]
    assert faults(tmp_path, MINIMAL, {}, ("warehouse=~/lake",)) == [line]
    assert load(conf(tmp_path, MINIMAL.replace("/lake", "./~")), {}).warehouse == f"{tmp_path}/~"


def test_credentials_in_a_url_are_refused_and_not_shown(tmp_path: Path) -> None:
    """A warehouse's URL is in logs and in messages. Its keys are in none of them, wherever the URL was given."""
    url = "s3a://AKIA:s3cret@bucket/lake"
    places: list[tuple[str, dict[str, str], tuple[str, ...]]] = [
        (MINIMAL.replace("/lake", url), {}, ()),
        (MINIMAL, {"LAGOON_WAREHOUSE": url}, ()),
        (MINIMAL, {}, (f"records.staging={url}",)),
    ]
    for place, named in zip(
        places, ("warehouse", "environment variable LAGOON_WAREHOUSE", "records.staging"), strict=True
    ):
        (line,) = faults(tmp_path, *place)
        assert line.startswith(f"{named}: this URL has credentials in it")
        assert "s3cret" not in line


def test_a_byte_order_mark_belongs_to_no_key(tmp_path: Path) -> None:
    """Editors of Windows write it: the first line of properties was lost with it, and with SSL there, encryption."""
    properties, toml = tmp_path / "client.properties", tmp_path / "lagoon.toml"
    properties.write_text("security.protocol=SSL\nbootstrap.servers=kafka-1:9093\n", "utf-8-sig")
    toml.write_text('warehouse = "/lake"\n', "utf-8-sig")
    settings = load(toml, {}, kafka_properties=properties)
    assert (settings.warehouse, settings.kafka and settings.kafka.security_protocol) == ("/lake", "SSL")


def test_a_warehouse_in_other_bytes_than_utf_8(tmp_path: Path) -> None:
    """Neither Java nor DuckDB can name such a folder, which a variable or an option in another encoding gives."""
    assert faults(tmp_path, MINIMAL, {"LAGOON_WAREHOUSE": "/n\udce9"}) == [
        "environment variable LAGOON_WAREHOUSE: must be text in UTF-8"
    ]
