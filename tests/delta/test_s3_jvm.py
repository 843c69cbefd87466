"""A JVM without Spark has the settings for S3 that a session would have; what it cannot have is left to a session."""

from pathlib import Path

import pytest

from kafka_lagoon.delta import s3_jvm
from kafka_lagoon.delta.s3_jvm import S3_GAPS, conf_folder, s3_jars, s3_settings
from kafka_lagoon.errors import JarsUnavailable, NeedsSession

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}


def given(folder: Path, *lines: str, **environ: str) -> dict[str, str]:
    """Return the settings with these lines in Spark's file."""
    (folder / "spark-defaults.conf").write_text("\n".join(lines))
    return s3_settings({"SPARK_CONF_DIR": str(folder), **environ})


def test_settings_of_spark(tmp_path: Path) -> None:
    """Those of Hadoop are found whichever way the file separates names and values; others do not matter."""
    lines = ["# S3", "spark.hadoop.fs.s3a.endpoint=http://store:9000 ", "spark.hadoop.fs.s3a.path.style.access   true"]
    assert given(tmp_path, *lines, "spark.jars.packages a:b:1") == {
        **S3_GAPS,
        "fs.s3a.endpoint": "http://store:9000",
        "fs.s3a.path.style.access": "true",
    }


def test_variables_of_amazon(tmp_path: Path) -> None:
    """As Spark copies them: only with both keys, and a setting of the file wins."""
    assert s3_settings({"SPARK_CONF_DIR": str(tmp_path), **KEYS, "AWS_SESSION_TOKEN": "token"}) == {
        **S3_GAPS,
        "fs.s3a.access.key": "key",
        "fs.s3a.secret.key": "secret",
        "fs.s3a.session.token": "token",
    }
    one_key = {"AWS_ACCESS_KEY_ID": "key", "AWS_SESSION_TOKEN": "t"}
    assert s3_settings({"SPARK_CONF_DIR": str(tmp_path), **one_key}) == S3_GAPS
    settings = given(tmp_path, "spark.hadoop.fs.s3a.endpoint ours", **KEYS, AWS_ENDPOINT_URL="theirs")
    assert settings["fs.s3a.endpoint"] == "ours"


@pytest.mark.parametrize(
    "line",
    [
        "spark.delta.logStore.s3a.impl org.example.LogStore",
        "delta.logStore.class org.example.LogStore",
        "spark.hadoop.fs.s3a.aws.credentials.provider org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider, org.example.Keys",
        "spark.hadoop.fs.s3a.bucket.lake.aws.credentials.provider org.example.Keys",
        "spark.hadoop.fs.s3a.impl org.example.FileSystem",
    ],
)
def test_classes_of_other_jars_need_a_session(tmp_path: Path, line: str) -> None:
    """The reason names the setting."""
    with pytest.raises(NeedsSession, match=line.split(" ", 1)[0]):
        given(tmp_path, line)


def test_classes_that_are_there(tmp_path: Path) -> None:
    """Hadoop's own and Amazon's, under old names too, need no session."""
    name = "fs.s3a.aws.credentials.provider"
    value = "org.apache.hadoop.fs.s3a.auth.AssumedRoleCredentialProvider,com.amazonaws.auth.InstanceProfileCredentialsProvider"
    assert given(tmp_path, f"spark.hadoop.{name} {value}") == {**S3_GAPS, name: value}


def test_the_stream_of_reads(tmp_path: Path) -> None:
    """Reads are repeated as other requests are, unless the file names another stream."""
    name = "fs.s3a.input.stream.type"
    assert given(tmp_path)[name] == "classic"
    assert given(tmp_path, f"spark.hadoop.{name} analytics")[name] == "analytics"


def test_how_long_a_busy_store_is_asked(tmp_path: Path) -> None:
    """By default s3a doubles its wait, of 0.1 s, 20 times. The file can name another number."""
    name = "fs.s3a.retry.throttle.limit"
    waits_s = [0.1 * 2**repetition for repetition in range(int(given(tmp_path)[name]))]
    assert 45 < sum(waits_s) < 120
    assert given(tmp_path, f"spark.hadoop.{name} 20")[name] == "20"


def test_a_file_that_cannot_be_read_needs_a_session(tmp_path: Path) -> None:
    """Spark says then what is wrong with it."""
    (tmp_path / "spark-defaults.conf").mkdir()
    with pytest.raises(NeedsSession, match=r"spark-defaults\.conf cannot be read"):
        s3_settings({"SPARK_CONF_DIR": str(tmp_path)})


def test_the_folder_of_the_file(tmp_path: Path) -> None:
    """SPARK_CONF_DIR comes first, then the folder of SPARK_HOME, then PySpark's own."""
    assert conf_folder({"SPARK_CONF_DIR": "/conf", "SPARK_HOME": str(tmp_path)}) == Path("/conf")
    assert conf_folder({"SPARK_HOME": str(tmp_path)}) == tmp_path / "conf"
    assert conf_folder({}).parent.name == "pyspark"


def test_jars_that_cannot_be_had_need_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have its own, or fetch them from elsewhere."""

    def nowhere(_lock: str) -> list[Path]:
        raise JarsUnavailable("the registry did not deliver")

    monkeypatch.setattr(s3_jvm, "jar_paths", nowhere)
    with pytest.raises(NeedsSession, match="jars for S3: the registry did not deliver"):
        s3_jars()
