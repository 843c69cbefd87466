"""Kafka Lagoon's jobs in Airflow 3: a snapshot every five minutes, an ingest each hour, maintenance and a report each day.

Copy it into Airflow's folder of DAGs as it is. Airflow's environment needs apache-airflow-providers-apache-spark; Kafka Lagoon
stays in an environment of its own on the workers, because that provider's pyspark-client overwrites files of PySpark. Nothing
here has to be edited:

    Variable lagoon_home        environment of Kafka Lagoon on the workers, /opt/kafka-lagoon/.venv if there is none
    Variable lagoon_conf        its settings, /etc/lagoon.toml
    Variable lagoon_reports     folder of the reports on the workers, /var/lib/lagoon
    Variable lagoon_incomplete  `fail` if a run that is incomplete (exit code 3) is a failure, else it is a warning
    Connection spark_default    where Spark runs: type spark, host local[*] or spark://head:7077
    Connection lagoon_kafka     the cluster and its secrets, see `kafka_settings`; without it the settings' own

Each run's time is the snapshot's slot: a task that is cleared or retried, or an interval that is filled once more, publishes
nothing twice, and an interval of which the time has passed by more than an hour is refused (snapshot.slot_max_age_ms).
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG, BaseHook, Connection, Context
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
    AirflowSkipException,
)

HOME = "{{ var.value.get('lagoon_home', '/opt/kafka-lagoon/.venv') }}"
CONF = "{{ var.value.get('lagoon_conf', '/etc/lagoon.toml') }}"
INCOMPLETE = "{{ var.value.get('lagoon_incomplete', 'warn') }}"
# The end of the data interval, which with a cron expression is when the run is due; a run by hand may have none.
DUE = "dag_run.data_interval_end or dag_run.run_after"
SLOT = f"{{{{ ({DUE}) | ts }}}}"
PAGE = f"{{{{ var.value.get('lagoon_reports', '/var/lib/lagoon') }}}}/report-{{{{ ({DUE}) | ds }}}}.html"

# Several clusters, each under its name in the settings: {"clusters.prod": "kafka_prod", "clusters.test": "kafka_test"}.
KAFKA = {"kafka": "lagoon_kafka"}

BAD_SETTINGS, INCOMPLETE_RUN, LOCK_HELD = 2, 3, 4
# What the provider raises names spark-submit's exit code and, in Kubernetes' cluster mode, the driver's.
EXIT_CODE = re.compile(r"Error code is: (\d+)\.(?: Kubernetes spark exit code is: (\d+))?")


def kafka_settings(section: str, connection: Connection) -> dict[str, str]:
    """Environment variables that set a section of the settings: nobody sees them in the list of processes.

    Host and port are the bootstrap server, login and password the user of SASL; Extra holds the other settings in our names
    or Kafka's (`{"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512"}`), and wins.
    """
    port = f":{connection.port}" if connection.port else ""
    given = {
        "bootstrap_servers": f"{connection.host}{port}" if connection.host else None,
        "sasl_username": connection.login,
        "sasl_password": connection.password,
        **{name.replace(".", "_"): value for name, value in connection.extra_dejson.items()},
    }
    prefix = f"LAGOON_{section.replace('.', '__').upper()}__"
    return {
        prefix + name.upper(): value if isinstance(value, str) else json.dumps(value)
        for name, value in given.items()
        if value is not None
    }


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Variables for the processes of one task.

    Not the operator's `env_vars`: the provider writes those into spark-submit's command line for YARN and Kubernetes.
    """
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class LagoonOperator(SparkSubmitOperator):
    """Runs one of Kafka Lagoon's jobs by spark-submit; its exit code is the task's result.

    0 and, unless `incomplete` is `fail`, 3 are success; 4 (another run holds the lock) skips the task; 2 (arguments or
    settings, a slot that is too old) and 3 fail it without another try, which would end the same; what is left is tried again.
    """

    template_fields = (*SparkSubmitOperator.template_fields, "home", "incomplete")

    def __init__(
        self,
        *,
        job: str,
        arguments: list[str] | None = None,
        kafka: Mapping[str, str] = KAFKA,
        home: str = HOME,
        incomplete: str = INCOMPLETE,
        **more: Any,
    ) -> None:
        super().__init__(application_args=["--conf", CONF, *(arguments or [])], name=f"lagoon-{job}", **more)
        self.job, self.kafka, self.home, self.incomplete = job, kafka, home, incomplete

    def execute(self, context: Context) -> int:
        """Run the job; its exit code, if it is one of success."""
        self.application = f"{self._path('jobs')}/{self.job}.py"
        try:
            with environment(self._installation() | self._secrets()):
                super().execute(context)
        except AirflowException as error:
            return self._ended(error)
        return 0

    def _path(self, name: str) -> str:
        """Ask the installation for one of its folders or files."""
        answer = subprocess.run(  # noqa: S603  an installation that the administrator names
            # Standard error goes to the task's log: the exception does not have it.
            [f"{self.home}/bin/lagoon", "path", name],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return answer.stdout.strip()

    def _installation(self) -> dict[str, str]:
        """spark-submit and Python of the installation; Spark's settings unless the worker has some."""
        path = os.pathsep.join((f"{self.home}/bin", os.environ.get("PATH", os.defpath)))
        defaults = {"PYSPARK_PYTHON": f"{self.home}/bin/python", "SPARK_CONF_DIR": self._path("conf")}
        return {"PATH": path, **{name: os.environ.get(name, value) for name, value in defaults.items()}}

    def _secrets(self) -> dict[str, str]:
        variables: dict[str, str] = {}
        for section, conn_id in self.kafka.items():
            try:
                variables |= kafka_settings(section, BaseHook.get_connection(conn_id))
            except AirflowNotFoundException:
                self.log.info("There is no connection %s: the cluster is that of the settings.", conn_id)
        return variables

    def _ended(self, error: AirflowException) -> int:
        """Raise the exception of Airflow for an exit code other than 0, or return 3 where an incomplete run is no failure."""
        match = EXIT_CODE.search(str(error))
        code = int(match[2] or match[1]) if match else None
        said = re.findall(r"^lagoon: (.*)$", str(error), re.MULTILINE)
        ended = f"{self.job} ended with exit code {code}: {'; '.join(said) or 'see the log above'}"
        if code == LOCK_HELD:
            raise AirflowSkipException(ended) from None
        if code == BAD_SETTINGS or (code == INCOMPLETE_RUN and self.incomplete == "fail"):
            raise AirflowFailException(ended) from None
        if code == INCOMPLETE_RUN:
            self.log.warning("%s", ended)
            return INCOMPLETE_RUN
        raise error


# A slot of the past is refused, so nothing is caught up; the next ingest reads what an earlier one did not.
COMMON: dict[str, Any] = {
    "start_date": datetime(2026, 1, 1, tzinfo=UTC),
    "catchup": False,
    "max_active_runs": 1,
    "tags": ["kafka-lagoon"],
    "default_args": {"retries": 2, "retry_delay": timedelta(minutes=1)},
}

with DAG(
    "lagoon_snapshot", schedule="*/5 * * * *", description="The state of the cluster, into Delta tables", **COMMON
):
    LagoonOperator(
        task_id="snapshot", job="snapshot", arguments=["--slot", SLOT], execution_timeout=timedelta(minutes=15)
    )

with DAG("lagoon_ingest", schedule="10 * * * *", description="New records, exactly once", **COMMON):
    LagoonOperator(task_id="ingest", job="ingest", execution_timeout=timedelta(hours=6))

with DAG("lagoon_maintain", schedule="30 2 * * *", description="Small files joined, old ones removed", **COMMON):
    LagoonOperator(task_id="maintain", job="maintain", kafka={}, execution_timeout=timedelta(hours=6))

with DAG("lagoon_report", schedule="0 6 * * *", description="A page about the last day, of the run's time", **COMMON):
    LagoonOperator(
        task_id="report",
        job="report",
        arguments=["--slot", SLOT, "--out", PAGE],
        kafka={},
        execution_timeout=timedelta(minutes=30),
    )
