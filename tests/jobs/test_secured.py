"""The jobs through secured listeners: the same results as without security, and no secret in any output."""

import tomllib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from confluent_kafka.admin import AclOperation, AclPermissionType, NewTopic, ResourceType
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from tests.integration.secured import KEY_PASSWORD, LIMITED, PASSWORD, SIGNED_WAY, Secured, add_rules, allow
from tests.integration.state import create_topics, produce
from tests.jobs.archived import archived, assert_tiled, consumed
from tests.jobs.commands import ROOT, here, lagoon, rows, run

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(240)]

TOPIC, RECORDS = "secured-records", 500
Run = CompletedProcess[str]


@pytest.fixture(scope="module")
def filled(secured: Secured) -> Secured:
    """A broker with a topic to read."""
    create_topics(secured.kafka.bootstrap_servers, [NewTopic(TOPIC, 2, 1)])
    produce(secured.kafka.bootstrap_servers, TOPIC, RECORDS)
    return secured


def conf_file(folder: Path, name: str, kafka: Mapping[str, str]) -> Path:
    """Write a configuration with these settings; tables are in `lake` in the folder."""
    path = folder / f"{name}.toml"
    lines = [f"{key} = '''{value}'''" for key, value in kafka.items()]
    path.write_text("\n".join([f'warehouse = "{folder / "left" / "lake"}"', "[kafka]", *lines, ""]))
    tomllib.loads(path.read_text())
    return path


def submit(job: str, conf: Path, *arguments: str, **environ: str) -> Run:
    """Run the job by spark-submit, with Spark's own event log beside the tables."""
    events = conf.parent / "left" / "events"
    events.mkdir(parents=True, exist_ok=True)
    log = {"enabled": "true", "compress": "false", "dir": str(events)}
    options = [part for name, value in log.items() for part in ("--conf", f"spark.eventLog.{name}={value}")]
    return run(["spark-submit", *options, str(ROOT / "jobs" / f"{job}.py"), "--conf", str(conf), *arguments], **environ)


def leaks(secrets: Sequence[bytes], left: Path, runs: Sequence[Run]) -> list[tuple[str, bytes]]:
    """Return the places of a secret, or its base64: output of runs, files, or rows of tables."""
    contents = {f"stdout of run {n}": done.stdout.encode() for n, done in enumerate(runs)}
    contents |= {f"stderr of run {n}": done.stderr.encode() for n, done in enumerate(runs)}
    contents |= {str(path): path.read_bytes() for path in left.rglob("*") if path.is_file()}
    for log in left.rglob("_delta_log"):
        contents[f"rows of {log.parent}"] = repr(rows(log.parent.parent, log.parent.name)).encode()
    shapes = {shape for secret in secrets for shape in (secret, b64encode(secret))}
    return [(where, shape) for where, held in contents.items() for shape in shapes if shape in held]


def assert_archived(secured: Secured, lake: Path) -> None:
    """Check that the tables have the state of the cluster, and every record that another client reads."""
    assert {row["topic"] for row in rows(lake, "topics")} >= {TOPIC}
    assert [row["status"] for row in rows(lake, "snapshots")] == ["complete"]
    assert archived(lake) == consumed(secured.kafka.bootstrap_servers, [TOPIC])
    assert_tiled(lake)


def assert_whole(runs: Sequence[Run]) -> None:
    for done in runs:
        assert done.returncode == 0, done.stdout + done.stderr
        assert " WARN " not in done.stderr


@pytest.mark.proof
def test_jobs_by_spark_submit_with_passwords(filled: Secured, tmp_path: Path) -> None:
    """SCRAM over TLS, the password in the file, then by reference, also on the command line: it is nowhere else."""
    literal = filled.settings("scram-tls")
    conf = conf_file(tmp_path, "literal", literal)
    wrong = conf_file(tmp_path, "reference", literal | {"sasl_password": "env:NOWHERE"})
    by_reference = ("--set", "kafka.sasl_password=env:BROKER_PASSWORD")
    runs = [
        submit("snapshot", conf),
        submit("ingest", wrong, "--topics", TOPIC, *by_reference, BROKER_PASSWORD=PASSWORD),
    ]
    assert_whole(runs)
    left = tmp_path / "left"
    assert_archived(filled, left / "lake")
    assert len(list((left / "events").iterdir())) == 2
    assert leaks([b"SparkListenerEnvironmentUpdate", b"localhost"], left, runs), "the search finds what is there"
    assert leaks(filled.secrets(), left, runs) == []


@pytest.mark.proof
@pytest.mark.usefixtures("spark")
def test_jobs_with_certificates(filled: Secured, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Mutual TLS, the key's password by reference to a file, then key and chain in the configuration.

    The second by spark-submit, whose tasks take the settings along.
    """
    (tmp_path / "password").write_text(KEY_PASSWORD + "\n")
    by_file = filled.settings("mutual") | {"ssl_key_password": f"file:{tmp_path / 'password'}"}
    encrypted = Path(by_file["ssl_keystore_location"]).read_bytes()
    key = load_pem_private_key(encrypted, KEY_PASSWORD.encode())
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    inline = {name: value for name, value in by_file.items() if not name.startswith("ssl_key")}
    inline |= {
        "ssl_keystore_key": plain,
        "ssl_keystore_certificate_chain": encrypted.decode().partition("KEY-----\n")[2],
    }
    inline["ssl_keystore_certificate_chain"] = encrypted[encrypted.index(b"-----BEGIN CERT") :].decode()
    runs = [
        here("snapshot", "--conf", str(conf_file(tmp_path, "by-file", by_file))),
        CompletedProcess((), 0, *capfd.readouterr()),
        submit("ingest", conf_file(tmp_path, "inline", inline), "--topics", TOPIC),
    ]
    assert_whole(runs)
    left = tmp_path / "left"
    assert_archived(filled, left / "lake")
    lines = [line.encode() for line in plain.splitlines()[1:-1]]
    assert leaks([*filled.secrets(), *lines], left, runs) == []


@pytest.mark.proof
def test_a_run_that_is_refused(filled: Secured, tmp_path: Path) -> None:
    """A wrong password in the file or in the environment: exit 1, one line, nothing written, and the password not shown."""
    wrong = "Wq7-not-the-password"
    settings = filled.settings("plain-tls")
    right = conf_file(tmp_path, "right", settings)
    runs = [
        submit("snapshot", conf_file(tmp_path, "wrong", settings | {"sasl_password": wrong})),
        lagoon("ingest", "--conf", str(right), "--topics", TOPIC, LAGOON_KAFKA__SASL_PASSWORD=wrong),
    ]
    for done in runs:
        said = done.stdout + done.stderr
        assert done.returncode == 1, said
        (line,) = [line for line in said.splitlines() if line.startswith("lagoon: ")]
        assert "PLAIN: SASL_AUTHENTICATION_FAILED: Authentication failed: Invalid username or password" in line
        assert "Traceback" not in said
    assert leaks([*filled.secrets(), wrong.encode(), b"Wq7-"], tmp_path / "left", runs) == []
    assert not (tmp_path / "left" / "lake").exists()


@pytest.mark.proof
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "way",
    [SIGNED_WAY, *(pytest.param(other, marks=pytest.mark.proof) for other in ("scram-512", "plain-tls", "token-tls"))],
)
def test_jobs_by_other_ways(filled: Secured, tmp_path: Path, way: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The same jobs with every other mechanism, in this process."""
    conf = conf_file(tmp_path, "conf", filled.settings(way))
    runs = [here("snapshot", "--conf", str(conf)), here("ingest", "--conf", str(conf), "--topics", TOPIC)]
    runs.append(CompletedProcess((), 0, *capfd.readouterr()))
    assert_whole(runs)
    assert_archived(filled, tmp_path / "left" / "lake")
    assert leaks(filled.secrets(), tmp_path / "left", runs) == []


@pytest.mark.proof
@pytest.mark.usefixtures("spark")
def test_topics_that_may_not_be_read(filled: Secured, tmp_path: Path) -> None:
    """Of two topics one is denied: a line and exit 3, and the other one is archived."""
    denied = "secured-denied"
    create_topics(filled.kafka.bootstrap_servers, [NewTopic(denied, 1, 1)])
    produce(filled.kafka.bootstrap_servers, denied, 10)
    add_rules(
        filled.kafka,
        allow(ResourceType.TOPIC, TOPIC, AclOperation.READ),
        allow(ResourceType.TOPIC, denied, AclOperation.DESCRIBE),
        allow(ResourceType.TOPIC, denied, AclOperation.READ, permission=AclPermissionType.DENY),
    )
    conf = conf_file(tmp_path, "conf", filled.settings("scram-tls") | {"sasl_username": LIMITED})
    done = here("ingest", "--conf", str(conf), "--topics", f"{TOPIC},{denied}")
    assert done.returncode == 3, done.stdout + done.stderr
    lake = tmp_path / "left" / "lake"
    assert archived(lake) == consumed(filled.kafka.bootstrap_servers, [TOPIC])
    assert_tiled(lake)
    problems = {(row["topic"], row["problem"]) for row in rows(lake, "record_ranges")}
    assert problems == {(TOPIC, None), (denied, "TOPIC_AUTHORIZATION_FAILED")}
