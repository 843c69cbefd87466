"""Runs DAGs of a folder with Airflow's own `dag.test()`, in an interpreter that has Airflow.

    python dag_run.py FOLDER [DAG TIME ...]

The last line of its output is JSON: the content of the folder, and how each run and its tasks ended.
"""

import json
import sys
from datetime import datetime

from airflow.dag_processing.dagbag import DagBag

folder, *wanted = sys.argv[1:]
bag = DagBag(folder)
runs = []
for dag_id, time in zip(wanted[::2], wanted[1::2], strict=True):
    run = bag.dags[dag_id].test(logical_date=datetime.fromisoformat(time))
    tasks = {one.task_id: {"state": one.state, "tries": one.try_number} for one in run.get_task_instances()}
    runs.append({"state": run.state, "tasks": tasks})
held = {
    name: {"catchup": dag.catchup, "max_active_runs": dag.max_active_runs, "tasks": dag.task_ids}
    for name, dag in bag.dags.items()
}
sys.stdout.write("\n" + json.dumps({"errors": bag.import_errors, "dags": held, "runs": runs}) + "\n")
