"""The runs whose traces are searched: every job by spark-submit, verbs of `lagoon`, and runs that fail."""

import json
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka.admin import AdminClient

from tests.integration.secured import GIVEN_WAY, KEY_PASSWORD, SIGNED_WAY
from tests.jobs.commands import ROOT
from tests.object_store import BUCKET, hadoop_aws
from tests.proof.secrets.canaries import Search
from tests.proof.secrets.world import ENV, FILE, JAAS, OPTION, TEXT, TOPIC, Spec, World, plain_key

HERE = Path(__file__).parent
ON_EXECUTORS = ("--master", "local-cluster[1,1,512]")
HMAC = "token hmac"
FROM_FILE = f"SCRAM password {FILE}"  # nothing but Python reads it
_FAILED = frozenset({1})
_REPORTED = frozenset({0, 1, 3})  # of doctor: a check may warn
_UNREAD = frozenset({1, 3})


def runs(world: World) -> Iterator[Spec]:
    """Make the runs one after the other: some need what those before them have left."""
    yield from jobs(world)
    yield from verbs(world)
    yield from failures(world)


def submit(job: str, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
    """Make the command of a job."""
    return ["spark-submit", *options, str(ROOT / "jobs" / f"{job}.py"), *arguments]


def jobs(world: World) -> Iterator[Spec]:
    """Make a run of every job by spark-submit, each with another way to give the secret."""
    left, secrets = world.left, world.secrets
    log = ("--log-file", str(left.made_file("log")))
    by_env = world.conf("env", world.scram(ENV, "env:SITE_PASSWORD"))
    given = {"SITE_PASSWORD": world.password(ENV)}
    yield Spec(name="snapshot, SCRAM env:", command=submit("snapshot", "--conf", by_env, *log), given=given)
    password = world.given_file("password", world.password(FILE))
    by_file = world.conf("file", world.scram(FILE, f"file:{password}"))
    topics = ("--topics", TOPIC)
    yield Spec(
        name="ingest on an executor, SCRAM file:",
        command=submit("ingest", "--conf", by_file, *topics, *log, options=ON_EXECUTORS),
        of_memory=Search({FROM_FILE: world.password(FILE)}),
    )
    module = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    line = f'{module} username="{JAAS}" password="{world.password(JAAS)}";'
    login = {
        name: value for name, value in world.scram(JAAS, "").items() if name not in ("sasl_username", "sasl_password")
    }
    by_jaas = world.conf("jaas", login | {"sasl_jaas_config": line}, str(left.made_file("lake") / "by-jaas"))
    yield Spec(
        name="ingest, JAAS text", command=submit("ingest", "--conf", by_jaas, *topics, *log, options=ON_EXECUTORS)
    )
    pem = Path(world.secured.file("client")).read_text()
    mutual = world.secured.settings("mutual")
    inline = {name: value for name, value in mutual.items() if not name.startswith("ssl_key")}
    inline |= {
        "ssl_keystore_key": plain_key(world.secured),
        "ssl_keystore_certificate_chain": pem[pem.index("-----BEGIN CERT") :],
    }
    clusters = ("--from-cluster", "default", "--to-cluster", "default")
    restore = (*clusters, *topics, "--rename", f"{TOPIC}=restored-records", "--yes", *log)
    yield Spec(
        name="restore, PEM key as text", command=submit("restore", "--conf", world.conf("pem", inline), *restore)
    )
    by_key = world.conf("key", mutual | {"ssl_key_password": "env:KEY_PASSWORD"})
    sensitive = world.given_file("sensitive", str(secrets["sensitive config"]))
    state = world.given_file("state.toml", _state(world, f"file:{sensitive}"))
    yield Spec(
        name="apply, key password env:, SCRAM user env:, sensitive config file:",
        command=submit("apply", str(state), "--conf", by_key, "--yes", *log),
        given={"KEY_PASSWORD": KEY_PASSWORD, "USER_PASSWORD": str(secrets["new SCRAM password"])},
    )
    tokens = {"CLIENT_SECRET": str(secrets["client secret"])}
    signed = world.secured.settings(SIGNED_WAY) | {"sasl_oauthbearer_client_secret": "env:CLIENT_SECRET"}
    in_bucket = world.conf("bucket", signed, f"s3a://{BUCKET}/lake")
    jars = ("--jars", ",".join(hadoop_aws()))
    yield Spec(
        name="snapshot to S3, client secret env:",
        command=submit("snapshot", "--conf", in_bucket, *log, options=jars),
        given=tokens,
        in_bucket=True,
    )
    text = world.conf("token", world.secured.settings(SIGNED_WAY), f"s3a://{BUCKET}/lake")
    yield Spec(
        name="snapshot to S3 without Spark, client secret as text",
        command=["lagoon", "snapshot", "--conf", text, *log],
        in_bucket=True,
    )
    yield Spec(
        name="ingest to S3 on an executor, client secret as text",
        command=submit("ingest", "--conf", text, *topics, *log, options=(*ON_EXECUTORS, *jars)),
        in_bucket=True,
    )
    yield Spec(
        name="maintain", command=submit("maintain", "--conf", by_env, "--keep-hours", "0", "--force", *log), given=given
    )
    options = {
        f"kafka.{name.replace('_', '.')}": value for name, value in world.scram(OPTION, world.password(OPTION)).items()
    }
    conf = world.given_file("options.json", json.dumps(options))
    script = [str(HERE / "source_and_sink.py"), str(conf), TOPIC, "copied-records", str(left.made)]
    yield Spec(
        name="data source and sink, password as an option", command=["spark-submit", "--master", "local[2]", *script]
    )
    plain = world.secured.settings("plain-tls")
    yield Spec(
        name="doctor with executors, PLAIN as text",
        command=["lagoon", "doctor", "--conf", world.conf("plain", plain), "--executors", "--master", "local[1]"],
        exits=_REPORTED,
    )


def _state(world: World, sensitive: str) -> str:
    """A state with a user, a sensitive config, and the topic that the sink writes."""
    admin = AdminClient({"bootstrap.servers": world.secured.kafka.bootstrap_servers})
    cluster = admin.list_topics(timeout=30).cluster_id
    return "\n".join(
        [
            f'cluster_id = "{cluster}"',
            "[topics.copied-records]",
            "partitions = 2",
            "[broker_configs.1]",
            f'"listener.name.unused.ssl.key.password" = "{sensitive}"',
            "[scram_users.new-user.SCRAM-SHA-512]",
            'password = "env:USER_PASSWORD"',
            "[[quotas]]",
            'user = "new-user"',
            "consumer_byte_rate = 10485760",
        ]
    )


def verbs(world: World) -> Iterator[Spec]:
    """Make runs of `lagoon`: verbs, queries, the page, and a token with which a snapshot is taken."""
    left, secrets = world.left, world.secrets
    lake = ("--warehouse", str(left.made_file("lake")))
    conf = ("--conf", world.conf("text", world.scram(TEXT, world.password(TEXT))))
    password = world.given_file("new-password", str(secrets["new SCRAM password"]))
    sensitive = world.given_file("sensitive", str(secrets["sensitive config"]))
    for words in (
        ("kafka", "metadata"),
        ("kafka", "configs", "broker", "1", "--json"),
        ("admin", "alter-scram", "other-user", "--password", f"file:{password}", "--yes", "--json"),
        (
            "admin",
            "alter-configs",
            "broker",
            "1",
            "--config",
            f"listener.name.unused.ssl.key.password=file:{sensitive}",
            "--yes",
            "--json",
        ),
        ("report", "--out", str(left.made_file("report.html"))),
        ("metrics",),
    ):
        of_tables = words[0] in ("report", "metrics")
        arguments = [*words, *(lake if of_tables else conf)]
        yield Spec(name=f"lagoon {' '.join(words[:2])}, SCRAM as text", command=["lagoon", *arguments])
    yield Spec(
        name="lagoon admin create-token",
        command=["lagoon", "admin", "create-token", *conf, "--yes", "--json"],
        printed=frozenset({HMAC}),
    )
    scram = world.scram("", "")
    by_token = scram | {
        "sasl_username": world.token_id[0],
        "sasl_password": str(secrets[HMAC]),
        "sasl_scram_tokenauth": "true",
    }
    yield Spec(
        name="snapshot by a token, hmac as text",
        command=["lagoon", "snapshot", "--conf", world.conf("by-token", by_token)],
    )
    given = world.secured.settings(GIVEN_WAY)
    secrets["token"] = Path(given["sasl_oauthbearer_token"].removeprefix("file:")).read_text().rpartition(".")[2]
    yield Spec(
        name="lagoon snapshot, token file:", command=["lagoon", "snapshot", "--conf", world.conf("given", given)]
    )
    out = str(left.made_file("import.toml"))
    into = ["sh", "-c", 'umask 077; lagoon import "$@" > "$0"', out]
    yield Spec(name="lagoon import", command=[*into, *conf])
    plan = ("plan", out, *conf, "--json", "--out", str(left.made_file("plan.json")))
    yield Spec(name="lagoon plan", command=["lagoon", *plan])
    query = "SELECT * FROM configs"
    yield Spec(name="lagoon sql", command=["lagoon", "sql", query, *lake])
    completion = ["sh", "-c", 'lagoon completion bash > "$HOME/.completion"']
    yield Spec(name="lagoon completion", command=completion)


def failures(world: World) -> Iterator[Spec]:
    """Make runs that fail, each with the secret as text, which error messages could show."""
    lake, secrets = str(world.left.made_file("lake") / "failed"), world.secrets
    wrong = world.conf("wrong", world.scram(TEXT, str(secrets["wrong password"])), lake)
    topics = ("--topics", TOPIC)
    yield Spec(name="wrong password, SCRAM", command=submit("snapshot", "--conf", wrong), exits=_FAILED)
    plain = world.secured.settings("plain-tls") | {"sasl_password": str(secrets["wrong password"])}
    yield Spec(
        name="wrong password, PLAIN",
        command=["lagoon", "ingest", "--conf", world.conf("wrong-plain", plain, lake), *topics],
        exits=_FAILED,
    )
    yield Spec(
        name="wrong password, doctor",
        command=["lagoon", "doctor", "--conf", world.conf("wrong-plain", plain, lake)],
        exits=_REPORTED,
    )
    client = world.secured.settings(SIGNED_WAY) | {
        "sasl_oauthbearer_client_secret": str(secrets["wrong client secret"])
    }
    yield Spec(
        name="wrong client secret",
        command=["lagoon", "snapshot", "--conf", world.conf("wrong-client", client, lake)],
        exits=_FAILED,
    )
    text = world.scram(TEXT, world.password(TEXT))
    gone = text | {"bootstrap_servers": "localhost:1", "default_api_timeout_ms": "3000"}
    yield Spec(name="broker gone", command=submit("snapshot", "--conf", world.conf("gone", gone, lake)), exits=_FAILED)
    untrusted = text | {"ssl_truststore_location": world.secured.file("other-ca")}
    yield Spec(
        name="bad certificate",
        command=["lagoon", "snapshot", "--conf", world.conf("untrusted", untrusted, lake)],
        exits=_FAILED,
    )
    wrong_key = world.secured.settings("mutual") | {"ssl_key_password": str(secrets["wrong password"])}
    yield Spec(
        name="wrong key password",
        command=["lagoon", "snapshot", "--conf", world.conf("wrong-key", wrong_key, lake)],
        exits=frozenset({1, 2}),
    )
    broken = world.given_file(
        "broken.toml", f"[kafka]\nbootstrap_servers = 'localhost:1'\nsasl_password = '{world.password(TEXT)}\n"
    )
    yield Spec(
        name="settings that are no TOML",
        command=["lagoon", "snapshot", "--conf", str(broken), "--warehouse", lake],
        exits=frozenset({2}),
    )
    unknown = world.conf(
        "unknown", text | {"sasl_pasword": world.password(TEXT), "request_timeout_ms": world.password(TEXT)}, lake
    )
    yield Spec(name="settings with faults", command=["lagoon", "snapshot", "--conf", unknown], exits=frozenset({2}))
    yield Spec(
        name="exception in a task of an ingest",
        command=submit("ingest", "--conf", world.conf("faulty", text, f"{lake}-ingest"), *topics, options=ON_EXECUTORS),
        exits=_UNREAD,
        python_path=[str(HERE / "faulty")],
    )
    options = {
        f"kafka.{name.replace('_', '.')}": value for name, value in world.scram(OPTION, world.password(OPTION)).items()
    }
    wrong_options = options | {"kafka.sasl.password": str(secrets["wrong password"])}
    for name, given, more in (
        ("exception in a task of a query", options, ["--fails"]),
        ("wrong password as an option", wrong_options, []),
    ):
        conf = world.given_file("failing.json", json.dumps(given))
        script = [str(HERE / "source_and_sink.py"), str(conf), TOPIC, "copied-records", str(world.left.made), *more]
        yield Spec(name=name, command=["spark-submit", "--master", "local[2]", *script], exits=_FAILED)
