"""Settings: order of sources, and every fault at once in words that name the setting."""

from pathlib import Path

import pytest

from pipeline.errors import ConfigError
from pipeline.settings import load, parse_address

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


def test_later_sources_win(tmp_path: Path) -> None:
    """File, then client.properties, then environment, then --set."""
    properties = tmp_path / "client.properties"
    properties.write_text("# a comment\nbootstrap.servers = two:9092\nclient.id=two\nmax.poll.records=1\n")
    path = conf(tmp_path, MINIMAL + 'client_id = "one"\nrequest_timeout_ms = 1\n')
    environ = {"LAGOON_KAFKA__CLIENT_ID": "three", "LAGOON_KAFKA__REQUEST_TIMEOUT_MS": "3", "PATH": "/bin"}
    settings = load(path, environ, ["kafka.request_timeout_ms=4"], properties)
    assert settings.kafka is not None
    assert settings.kafka.bootstrap_servers == "two:9092"
    assert settings.kafka.client_id == "three"
    assert settings.kafka.request_timeout_ms == 4


def test_clusters_keep_their_names(tmp_path: Path) -> None:
    """The one cluster is `default`; several keep the names of their sections."""
    one = load(conf(tmp_path, MINIMAL), {})
    assert list(one.named_clusters()) == ["default"]
    text = 'warehouse = "/lake"\n[clusters.a]\nbootstrap_servers = "a:1"\n[clusters.b]\nbootstrap_servers = "b:2"\n'
    several = load(conf(tmp_path, text), {})
    assert {name: kafka.bootstrap_servers for name, kafka in several.named_clusters().items()} == {
        "a": "a:1",
        "b": "b:2",
    }


def test_all_faults_are_listed_at_once(tmp_path: Path) -> None:
    """One run of the command shows every mistake, each with the setting's name and a guess at what was meant."""
    found = faults(
        tmp_path,
        'warehose = "/lake"\n[kafka]\nboostrap_servers = "one:9092"\n',
        {"LAGOON_SNAPSHOTS__DEADLINE_MS": "5"},
        ("nonsense",),
    )
    assert any(line.startswith("warehose: no such setting (did you mean warehouse?)") for line in found)
    assert any(
        line.startswith("kafka.boostrap_servers: no such setting (did you mean bootstrap_servers?)") for line in found
    )
    assert any("LAGOON_SNAPSHOTS__DEADLINE_MS" in line and "did you mean snapshot?" in line for line in found)
    assert "--set nonsense: write it as key=value" in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('warehouse = "/lake"\n', "no cluster: set kafka.bootstrap_servers, or [clusters.NAME]"),
        ('[kafka]\nbootstrap_servers = "one:9092"\n', "no place for the tables: set warehouse, or catalog and schema"),
        (
            'warehouse = "/lake"\n[kafka]\nbootstrap_servers = "one"\n',
            "kafka.bootstrap_servers: 'one' is not host:port",
        ),
        (MINIMAL + "[clusters.a]\nbootstrap_servers = 'a:1'\n", "[kafka] and [clusters.NAME] exclude each other"),
        (MINIMAL.replace("[kafka]", 'catalog = "c"\n[kafka]'), "warehouse and catalog exclude each other"),
        ("warehouse = \n", "not TOML"),
    ],
)
def test_a_fault_is_named(tmp_path: Path, text: str, expected: str) -> None:
    """Each mistake has a line of its own that says what to set."""
    assert any(expected in line for line in faults(tmp_path, text))


def test_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    """A --conf that is not there is a configuration error, not a traceback."""
    with pytest.raises(ConfigError, match="No such file"):
        load(tmp_path / "absent.toml", {})


def test_values_are_never_shown(tmp_path: Path) -> None:
    """A bad value may be a secret in the wrong place, so it is not repeated."""
    found = faults(tmp_path, MINIMAL + 'request_timeout_ms = "hunter2"\n')
    assert len(found) == 1
    assert "hunter2" not in found[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a:1", ("a", 1)), ("[::1]:9092", ("::1", 9092)), (" b.example:65535 ", ("b.example", 65535))],
)
def test_addresses(text: str, expected: tuple[str, int]) -> None:
    """Host names, IPv4 and bracketed IPv6."""
    assert parse_address(text) == expected


@pytest.mark.parametrize("text", ["a", "a:", "a:0", "a:65536", "a:x", ":1", "http://a:1", "::1:9"])
def test_bad_addresses(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match="is not host:port"):
        parse_address(text)
