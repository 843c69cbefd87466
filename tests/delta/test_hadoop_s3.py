"""Executors open a bucket with Arrow, by Hadoop's settings for it, and by no others."""

import pickle
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from pyspark.sql import SparkSession

from kafka_lagoon.delta.arrow_files import file_system
from kafka_lagoon.delta.hadoop_s3 import refuse_encryption, s3_access
from kafka_lagoon.delta.kernel import start
from kafka_lagoon.delta.s3_access import S3Access
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.jars.ivy import spark_jars_folder
from kafka_lagoon.jars.java import java_path
from tests.certificates import ROOT, SERVER
from tests.object_store import BUCKET, KEY, SECRET, ObjectStore, hadoop_aws, object_store

S3A = "org.apache.hadoop.fs.s3a."


def access_to(spark: SparkSession, store: ObjectStore, name: str, **options: str) -> S3Access:
    """Return the tasks' access to a new bucket called `name`, with these Hadoop settings and the endpoint."""
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    place = {"endpoint": store.endpoint, "endpoint.region": "eu-west-3", "path.style.access": "true"}
    for option, value in {**place, **{option.replace("_", "."): value for option, value in options.items()}}.items():
        conf.set(f"fs.s3a.bucket.{name}.{option}", value)
    store.request("PUT", f"/{name}")
    access = s3_access(start(spark).storage, f"s3a://{name}/lake")
    assert access is not None
    return access


def write_there(access: S3Access, name: str) -> None:
    """Write an object as a task with these settings does."""
    files, path = file_system(f"s3a://{name}/lake/a file", pickle.loads(pickle.dumps(access)))  # noqa: S301
    with files.open_output_stream(path) as out:
        out.write(b"content")
    assert files.get_file_info(path).size == 7


def test_keys_of_the_settings_travel(spark: SparkSession, bucket: ObjectStore) -> None:
    """Endpoint, region and keys are those of Hadoop's settings; the secret key is in no text of them."""
    access = s3_access(start(spark).storage, f"s3a://{BUCKET}/lake")
    assert access == s3_access(start(spark).storage, f"s3a://{BUCKET}/another")
    assert access is not None
    assert (access.scheme, access.endpoint, access.region) == ("http", f"127.0.0.1:{bucket.port}", "eu-west-3")
    assert access.path_style
    assert SECRET not in repr(access)
    write_there(access, BUCKET)
    assert bucket.requests()[-1].access_key == KEY


def test_session_tokens_travel(spark: SparkSession, bucket: ObjectStore) -> None:
    """Temporary credentials have three values."""
    given: dict[str, str] = {"access_key": "ASIATEMPORARY", "secret_key": "s", "session_token": "a-token"}
    write_there(access_to(spark, bucket, "temporary", **given), "temporary")
    last = bucket.requests()[-1]
    assert (last.access_key, last.has_token) == ("ASIATEMPORARY", True)


@pytest.mark.parametrize(
    ("name", "provider", "is_anonymous"),
    [("machine", "auth.IAMInstanceCredentialsProvider", False), ("public", "AnonymousAWSCredentialsProvider", True)],
)
def test_no_keys_travel(spark: SparkSession, bucket: ObjectStore, name: str, provider: str, is_anonymous: bool) -> None:
    """Executors look for credentials on their own machines if the driver does, and send unsigned requests if it does."""
    access = access_to(spark, bucket, name, aws_credentials_provider=f"{S3A}{provider}")
    assert (access.access_key, access.session_token, access.anonymous) == (None, None, is_anonymous)


def test_other_file_systems_need_nothing(spark: SparkSession) -> None:
    """Only S3 has such settings."""
    assert s3_access(start(spark).storage, "file:/tmp/lake") is None
    assert s3_access(start(spark).storage, "abfss://files@account.dfs.core.windows.net/lake") is None


def test_a_bucket_that_s3a_does_not_open_is_named(spark: SparkSession, bucket: ObjectStore) -> None:
    """One line with the URL and Hadoop's reason."""
    with pytest.raises(TableError, match=r"^s3a://faulty/lake: .*no\.such\.Provider"):
        access_to(spark, bucket, "faulty", aws_credentials_provider="no.such.Provider")


def test_an_encryption_that_arrow_cannot_ask_for_is_refused(spark: SparkSession, bucket: ObjectStore) -> None:
    """Records would be stored without the key of the settings; Amazon's own encryption (SSE-S3) they have anyway."""
    storage = start(spark).storage
    given = {"encryption_algorithm": "SSE-KMS", "encryption_key": "arn:aws:kms:eu-west-3:123456789012:key/1"}
    access_to(spark, bucket, "own-key", **given)
    with pytest.raises(ConfigError, match=r"encryption\.algorithm is SSE-KMS, .* to s3a://own-key/lake without it"):
        refuse_encryption(storage, "s3a://own-key/lake")
    access_to(spark, bucket, "amazons-key", encryption_algorithm="AES256")
    for url in ("s3a://amazons-key/lake", f"s3a://{BUCKET}/lake", "file:/tmp/lake"):
        refuse_encryption(storage, url)


@pytest.mark.proof
def test_the_keys_of_an_assumed_role_travel(tmp_path: Path) -> None:
    """The driver requests a role from the token service by TLS; Hadoop and Arrow sign with the role's keys and token.

    Needs the permission to listen on port 443.
    """
    (tmp_path / "server.pem").write_text(SERVER.chain_pem() + SERVER.key_pem())
    trusted = [PKCS12Certificate(ROOT.chain[0], b"root")]
    (tmp_path / "trust.p12").write_bytes(serialize_java_truststore(trusted, BestAvailableEncryption(b"password")))
    with object_store(tmp_path) as store:
        settings = store.hadoop() | {
            f"fs.s3a.bucket.{BUCKET}.aws.credentials.provider": f"{S3A}auth.AssumedRoleCredentialProvider",
            "fs.s3a.assumed.role.arn": "arn:aws:iam::123456789012:role/lagoon",
            "fs.s3a.assumed.role.sts.endpoint": "127.0.0.1",
            "fs.s3a.assumed.role.sts.endpoint.region": "eu-west-3",
        }
        storage = storage_trusting(tmp_path / "trust.p12", settings)
        url = f"s3a://{BUCKET}/lake"
        storage.write(f"{url}/of Hadoop", b"content")
        of_hadoop = store.requests()[-1]
        access = s3_access(storage, url)
        assert access is not None
        write_there(access, BUCKET)
        of_arrow = store.requests()[-1]
    assert of_hadoop.access_key == of_arrow.access_key != KEY
    assert of_hadoop.access_key.startswith("ASIA")
    assert of_hadoop.has_token
    assert of_arrow.has_token


def storage_trusting(truststore: Path, settings: dict[str, str]) -> Storage:
    """Open Hadoop's file systems in a JVM of its own, which trusts certificates of the tests."""
    folder = spark_jars_folder()
    trust = [f"-Djavax.net.ssl.trustStore={truststore}", "-Djavax.net.ssl.trustStorePassword=password"]
    port, token = launch_gateway(
        jarpath=str(next(folder.glob("py4j-*.jar"))),
        classpath=":".join([f"{folder}/*", *hadoop_aws()]),
        javaopts=["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *trust],
        java_path=java_path(),
        die_on_exit=True,
        enable_auth=True,
    )
    jvm = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True)).jvm
    conf = jvm.org.apache.hadoop.conf.Configuration()
    for name, value in settings.items():
        conf.set(name, value)
    return Storage(jvm=jvm, conf=conf)
