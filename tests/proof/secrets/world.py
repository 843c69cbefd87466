"""Starts the broker, the bucket and the site of the runs: the users and their secrets, the files of settings, Spark's settings."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark
from confluent_kafka.admin import (
    AclOperation,
    NewTopic,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from kafka_lagoon.sandbox.kafka import DEFAULT_VERSION
from tests.integration import every_broker
from tests.integration.restore_process import members, send
from tests.integration.secured import KEY_PASSWORD, PASSWORD, Secured, add_rules, allow, secured_kafka
from tests.integration.state import commit, create_topics, produce
from tests.jobs.commands import ROOT, environment
from tests.object_store import BUCKET, ObjectStore, object_store
from tests.proof.secrets.canaries import Search, canary
from tests.proof.secrets.places import WATCHED, Left, Observed
from tests.proof.secrets.watch import Files, Processes

TOPIC, RECORDS = "secret-records", 400
# Users with a password of their own, for each of the ways to give it.
ENV, FILE, TEXT, JAAS, OPTION = "by-env", "by-file", "by-text", "by-jaas", "by-option"
USERS = (ENV, FILE, TEXT, JAAS, OPTION)
_TIMEOUT_S = 300
_POLL_S = 0.02
_REQUEST_LOG = ("-Dorg.slf4j.simpleLogger.log.kafka.request.logger=debug",)
_RESPONSE = (b',"response":', b',"connection":')


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A run: its command, the variables in which it gets secrets, and how it must end."""

    name: str
    command: Sequence[str]
    given: Mapping[str, str] = field(default_factory=dict)
    exits: frozenset[int] = frozenset({0})
    of_memory: Search | None = None  # what is searched for in the memory of JVMs
    printed: frozenset[str] = frozenset()  # secrets that its standard output shows by design
    in_bucket: bool = False
    python_path: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The broker, the bucket, the folder of all runs, and the secrets by name."""

    secured: Secured
    bucket: ObjectStore
    left: Left
    secrets: dict[str, str | Sequence[str]]
    token_id: list[str] = field(default_factory=list)  # of the delegation token, once there is one
    ui_port: int

    def given_file(self, name: str, content: str) -> Path:
        """Write what the user gives; such files are not searched."""
        path = self.left.folder / "given" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        return path

    def password(self, user: str) -> str:
        """The password of one of USERS."""
        secret = self.secrets[f"SCRAM password {user}"]
        assert isinstance(secret, str)
        return secret

    def conf(self, name: str, kafka: Mapping[str, str], warehouse: str | None = None) -> str:
        """Write a file of settings; return its path."""
        lines = [f"{key} = '''{value}'''" for key, value in kafka.items()]
        head = [f'warehouse = "{warehouse or self.left.made_file("lake")}"', "[metrics]"]
        head += [f'folder = "{self.left.made_file("metrics")}"', "[kafka]"]
        return str(self.given_file(f"{name}.toml", "\n".join([*head, *lines, ""])))

    def scram(self, user: str, password: str) -> dict[str, str]:
        """Settings of a user of SCRAM over TLS."""
        return {**self.secured.settings("scram-tls"), "sasl_username": user, "sasl_password": password}

    def observed(self, spec: Spec) -> Observed:
        """Run a command to its end, and keep all that was seen of it."""
        folder, started = self.left.folder, time.time()
        self._prepare()
        log = self.secured.kafka.log(1)
        before = log.stat().st_size
        environ = environment(
            **spec.given,
            SPARK_CONF_DIR=str(folder / "conf"),
            HOME=str(folder / "home"),
            TMPDIR=str(folder / "tmp"),
            LAGOON_CACHE=str(folder / "cache"),
            PYTHONPATH=os.pathsep.join([*spec.python_path, str(ROOT)]),
        )
        files = Files(folder, WATCHED)
        with files, (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
            process = subprocess.Popen(
                spec.command, env=environ, cwd=folder / "cwd", stdout=out, stderr=err, start_new_session=True
            )
            processes = Processes(session=process.pid, ui_port=self.ui_port, of_memory=spec.of_memory)
            try:
                with processes:
                    code = process.wait(_TIMEOUT_S)
            finally:
                _kill(process)
            if spec.in_bucket:  # what is there is searched like other tables
                self.bucket.download("lake", self.left.made_file("lake") / "of-bucket")
        with log.open("rb") as file:
            file.seek(before)
            lines = file.read().splitlines()
        return Observed(
            name=spec.name,
            exit_code=code,
            stdout=(folder / "out").read_bytes(),
            stderr=(folder / "err").read_bytes(),
            left=self.left,
            files=files.read(),
            processes=processes,
            given=spec.given,
            executors=[path for path in _work().glob("app-*") if path.stat().st_mtime > started],
            broker_log=b"\n".join(map(_without_response, lines)),
        )

    def _prepare(self) -> None:
        for name in ("events", "tmp", "local"):
            shutil.rmtree(self.left.folder / name)
            (self.left.folder / name).mkdir()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a run."""
    while left := [member.pid for member in members(process.pid)]:
        for pid in left:
            send(pid, signal.SIGKILL)
        time.sleep(_POLL_S)
        process.poll()


def _work() -> Path:
    """The folder in which workers of local-cluster keep the output of executors: Spark has no setting for it."""
    return Path(pyspark.__file__).parent / "work"


def _without_response(line: bytes) -> bytes:
    """Leave out what the broker answered: Kafka's log has the secret of a new token there, whoever asked for it."""
    head, is_there, rest = line.partition(_RESPONSE[0])
    return head + rest[rest.rfind(_RESPONSE[1]) :] if is_there else line


@contextmanager
def new_world(folder: Path) -> Iterator[World]:
    """Run the broker and the bucket until the block ends."""
    for name in ("kafka", "bucket"):
        (folder / name).mkdir(parents=True)
    left = Left(folder=folder / "site")
    left.make()
    with (
        secured_kafka(folder / "kafka", DEFAULT_VERSION, _REQUEST_LOG) as secured,
        object_store(folder / "bucket") as bucket,
    ):
        secrets = _secrets(secured)
        world = World(secured=secured, bucket=bucket, left=left, secrets=secrets, ui_port=_free_port())
        _write_conf(world)
        for name in ("jars", "classes"):
            (left.folder / "cache" / name).symlink_to(ROOT / ".cache" / name)
        _fill(world)
        yield world


def _secrets(secured: Secured) -> dict[str, str | Sequence[str]]:
    assert secured.tokens
    secured.tokens.client_secret = canary()
    encrypted = Path(secured.file("client")).read_text()
    made: dict[str, str | Sequence[str]] = {f"SCRAM password {user}": canary() for user in USERS}
    new = (
        "wrong password",
        "wrong client secret",
        "new SCRAM password",
        "sensitive config",
        "S3 secret key",
        "Spark conf",
    )
    return {
        **made,
        **{name: canary() for name in new},
        "PLAIN password": PASSWORD,
        "key password": KEY_PASSWORD,
        "client secret": secured.tokens.client_secret,
        "encrypted key": encrypted.partition("-----END")[0].splitlines()[4:20:7],  # some lines of each
        "private key": plain_key(secured).splitlines()[4:-1:7],
    }


def plain_key(secured: Secured) -> str:
    """The client's private key as PEM without a password."""
    key = load_pem_private_key(Path(secured.file("client")).read_bytes(), KEY_PASSWORD.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _fill(world: World) -> None:
    servers = world.secured.kafka.bootstrap_servers
    create_topics(servers, [NewTopic(TOPIC, 2, 1)])
    produce(servers, TOPIC, RECORDS)
    commit(servers, "secret-group", {(TOPIC, 0): 10, (TOPIC, 1): 10})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    every_broker.create_users(
        servers, [UserScramCredentialUpsertion(user, info, world.password(user).encode()) for user in USERS]
    )
    kinds = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
    everything = [allow(kind, "*", AclOperation.ALL, user=user) for kind in kinds for user in USERS]
    cluster = [allow(ResourceType.BROKER, "kafka-cluster", AclOperation.ALL, user=user) for user in USERS]
    add_rules(world.secured.kafka, *everything, *cluster)


def _write_conf(world: World) -> None:
    """Write Spark's settings: ours, and those of a site that has secrets there and wants to see everything."""
    folder = world.left.folder
    shutil.copytree(ROOT / "conf", folder / "conf")
    temporary = f"-Djava.io.tmpdir={folder / 'tmp'}"
    path = folder / "conf" / "spark-defaults.conf"
    kept = [line for line in path.read_text().splitlines() if not line.startswith("spark.ui.enabled")]
    ours = {
        "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {temporary}",
        "spark.executor.extraJavaOptions": temporary,
        "spark.executor.memory": "512m",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file://{folder}/events",
        "spark.ui.enabled": "true",
        "spark.ui.port": str(world.ui_port),
        "spark.local.dir": f"{folder}/local",
        **{f"spark.{what}.compress": "false" for what in ("shuffle", "shuffle.spill", "broadcast", "rdd")},
        **{f"spark.hadoop.{name}": value for name, value in world.bucket.hadoop().items()},
        f"spark.hadoop.fs.s3a.bucket.{BUCKET}.secret.key": str(world.secrets["S3 secret key"]),
        "spark.site.webhook.token": str(world.secrets["Spark conf"]),
    }
    kept = [line for line in kept if not line.startswith("spark.driver.extraJavaOptions")]
    path.write_text("\n".join([*kept, *(f"{name} {value}" for name, value in ours.items()), ""]))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port
