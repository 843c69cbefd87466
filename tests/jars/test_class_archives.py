"""A class archive is used only if nobody else can have written it; conf/spark-env.sh chooses it for Spark's driver."""

import os
import subprocess
from pathlib import Path

import pytest

from kafka_lagoon.jars.class_archives import (
    KERNEL,
    SPARK,
    SPARK_CLASS_PATH,
    archive,
    archive_options,
    archive_size,
    spark_class_paths,
)

CONF = Path(__file__).resolve().parent.parent.parent / "conf"
SUBMIT = "org.apache.spark.deploy.SparkSubmit"
CORE, HIVE = "spark-core_2.13-4.2.0.jar", "hive-exec-2.3.10-core.jar"


@pytest.fixture
def spark_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folder of a Spark with two jars, and an archive made after them."""
    monkeypatch.setenv("LAGOON_CACHE", str(tmp_path / "a cache"))
    jars = tmp_path / "spark home" / "jars"
    jars.mkdir(parents=True)
    for name in (HIVE, CORE):
        (jars / name).touch()
    os.utime(jars, (1, 1))
    archive(SPARK).parent.mkdir(mode=0o700, parents=True)
    archive(SPARK).touch(0o600)
    archive(SPARK).write_bytes(b"classes")
    archive_size(SPARK).touch(0o600)
    archive_size(SPARK).write_text("7\n")
    first, rest = spark_class_paths(jars.glob("*.jar"))
    archive(SPARK_CLASS_PATH).write_text(f"{first}\n{rest}\n")
    archive(SPARK_CLASS_PATH).chmod(0o600)
    return jars


def submit_options(jars: Path, *arguments: str, main: str = SUBMIT, conf: Path = CONF, **environ: str) -> str:
    """Return SPARK_SUBMIT_OPTS of spark-class with these arguments; it must print nothing else, and leave no file."""
    script = 'set -a; . "$SPARK_CONF_DIR/spark-env.sh"; set +a; compgen -A function; printf %s "$SPARK_SUBMIT_OPTS"'
    some = {"SPARK_HOME": str(jars.parent), "SPARK_CONF_DIR": str(conf), "LAGOON_CACHE": os.environ["LAGOON_CACHE"]}
    command = ["bash", "-c", script, "spark-class", main, *arguments]
    environ = {"PATH": os.environ["PATH"], "HOME": "/nowhere", **some, **environ}
    done = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout


def test_archives_of_others_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive runs as code, so only complete ones of our own are used; without an archive a JVM starts as usual."""
    monkeypatch.setenv("LAGOON_CACHE", str(tmp_path / "cache"))
    assert archive_options(KERNEL) == []
    archive(KERNEL).parent.mkdir(parents=True)
    archive(KERNEL).touch(0o600)
    assert archive_options(KERNEL) == []
    archive_size(KERNEL).write_text("0\n")
    assert archive_options(KERNEL)[0] == f"-XX:SharedArchiveFile={tmp_path}/cache/classes/{KERNEL}"
    archive(KERNEL).chmod(0o620)
    assert archive_options(KERNEL) == []


def test_an_archive_in_a_folder_of_others(spark_jars: Path) -> None:
    """Whoever can write to the folder could put another archive there after the check, so none of it is used."""
    del spark_jars
    folder = archive(SPARK).parent
    assert archive_options(SPARK)
    for mode in (0o770, 0o777, 0o1777):
        folder.chmod(mode)
        assert archive_options(SPARK) == []


@pytest.mark.parametrize(
    "arguments",
    [["job.py"], ["--master", "local[2]", "job.py"], ["--conf", "spark.ui.enabled=true", "pyspark-shell"]],
    ids=" ".join,
)
def test_a_driver_on_this_machine(spark_jars: Path, arguments: list[str]) -> None:
    """The class path has all of Spark's jars, the archived ones first, and the archive; the JVM prints no messages."""
    first = f'-cp "{spark_jars / CORE}:{CONF}/:{spark_jars / HIVE}"'
    quiet = "-Xlog:disable -Xlog:all=error:stderr"
    assert submit_options(spark_jars, *arguments) == f'{first} -XX:SharedArchiveFile="{archive(SPARK)}" {quiet}'


def test_a_snapshot(spark_jars: Path, tmp_path: Path) -> None:
    """It leaves out jars that it does not need, unless the user adds jars or a catalog; other jobs do not."""
    job, without = str(CONF.parent / "jobs" / "snapshot.py"), f'-cp "{spark_jars / CORE}:{CONF}/" '
    assert submit_options(spark_jars, job, "--dry-run").startswith(without)
    for arguments in (
        ["--jars", "more.jar", job],
        ["--packages", "org:more:1", job],
        ["--conf", "spark.jars.packages=org:more:1", job],
        ["--conf", "spark.sql.catalogImplementation=hive", job],
        [str(tmp_path / "snapshot.py")],
        [str(CONF.parent / "jobs" / "maintain.py")],
    ):
        assert f"/:{spark_jars / HIVE}" in submit_options(spark_jars, *arguments), arguments
    (tmp_path / "conf").mkdir()
    (tmp_path / "jobs").symlink_to(CONF.parent / "jobs")
    (tmp_path / "conf" / "spark-env.sh").write_text((CONF / "spark-env.sh").read_text())
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.jars.packages org:more:1\n")
    assert f"/:{spark_jars / HIVE}" in submit_options(spark_jars, job, conf=tmp_path / "conf")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--master", "yarn", "job.py"],
        ["--master", "local-cluster[2,1,1024]", "job.py"],
        ["--master=k8s://https://host", "job.py"],
        ["--conf", "spark.master=spark://host:7077", "job.py"],
        ["--driver-class-path", "other.jar", "job.py"],
        ["--conf", "spark.driver.extraClassPath=other.jar", "job.py"],
        ["--properties-file", "other.conf", "job.py"],
        ["--remote", "sc://host", "pyspark-shell"],
    ],
    ids=" ".join,
)
def test_whoever_names_a_cluster_or_a_class_path(spark_jars: Path, arguments: list[str]) -> None:
    """Such a job starts as with Spark alone."""
    assert submit_options(spark_jars, *arguments) == ""


@pytest.mark.parametrize("name", ["HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH", "MASTER"])
def test_an_environment_that_names_them(spark_jars: Path, name: str) -> None:
    """The driver uses the archive, too, and JVM options that are set already stay."""
    assert submit_options(spark_jars, "job.py", **{name: "something"}) == ""
    assert submit_options(spark_jars, "job.py", SPARK_SUBMIT_OPTS="-Dmine=1") == "-Dmine=1"


def test_a_conf_that_names_them(spark_jars: Path, tmp_path: Path) -> None:
    """Make a copy of our conf with a master."""
    (tmp_path / "spark-env.sh").write_text((CONF / "spark-env.sh").read_text())
    for line, is_used in (
        ("spark.driver.memory 2g", True),
        ("spark.master yarn", False),
        (" spark.master=yarn", False),
    ):
        (tmp_path / "spark-defaults.conf").write_text(f"{line}\n")
        assert bool(submit_options(spark_jars, "job.py", conf=tmp_path)) == is_used


def test_an_archive_of_other_jars(spark_jars: Path) -> None:
    """An archive of another Spark, of another command, from before an upgrade, or with a missing part is not used."""
    assert submit_options(spark_jars, "job.py", main="org.apache.spark.deploy.worker.Worker") == ""
    other = spark_jars.parent.parent / "other" / "jars"
    other.mkdir(parents=True)
    os.utime(other, (1, 1))
    assert submit_options(other, "job.py") == ""
    os.utime(spark_jars, (2**31, 2**31))
    assert submit_options(spark_jars, "job.py") == ""
    os.utime(spark_jars, (1, 1))
    for content in ("", f"{spark_jars / CORE}"):
        archive(SPARK_CLASS_PATH).write_text(content)
        assert submit_options(spark_jars, "job.py") == ""


def test_an_archive_that_was_cut_off(spark_jars: Path) -> None:
    """It would crash the JVM, so it is not used, and neither is an archive of unknown size."""
    for content, size in ((b"class", "7\n"), (b"", "7\n"), (b"classes", "many\n"), (b"classes", "")):
        archive(SPARK).write_bytes(content)
        archive_size(SPARK).write_text(size)
        assert archive_options(SPARK) == []
        assert submit_options(spark_jars, "job.py") == ""


@pytest.mark.parametrize("name", ["", SPARK, f"{SPARK}.size", SPARK_CLASS_PATH])
def test_an_archive_that_others_can_write(spark_jars: Path, name: str) -> None:
    """An archive of another user, or in a folder of another user, or one that was removed, is not used."""
    path = archive(SPARK).parent / name
    assert submit_options(spark_jars, "job.py")
    mode = path.stat().st_mode
    for added in (0o020, 0o002):
        path.chmod(mode | added)
        assert submit_options(spark_jars, "job.py") == ""
    path.chmod(mode)
    path.rename(path.with_name("elsewhere"))
    assert submit_options(spark_jars, "job.py") == ""


@pytest.mark.parametrize("names", [{"LC_ALL": "C"}, {"LANG": "xx_XX.UTF-8"}, {}, {"LC_ALL": "C.UTF-8"}])
def test_a_driver_names_files_in_utf8(names: dict[str, str]) -> None:
    """In a locale that is C or not installed Java refuses paths with other letters than ASCII."""
    script = f"set -a; . {CONF}/spark-env.sh; set +a; exec locale charmap"
    environ = {"PATH": os.environ["PATH"], "SPARK_CONF_DIR": str(CONF), **names}
    command = ["bash", "-c", script, "spark-class", SUBMIT]
    done = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("UTF-8\n", "")
