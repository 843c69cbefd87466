"""The command lines of conf/cron, conf/systemd and conf/kubernetes, as each scheduler passes them to a process."""

import configparser
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from tests.installed import CLONE

CONF = CLONE / "conf"
UNITS = CONF / "systemd"
_ASSIGNMENT = re.compile(r"([A-Z_]+)=(.*)")


@dataclass(frozen=True)
class Crontab:
    """The variables that a crontab sets, and the command of each job for sh."""

    variables: Mapping[str, str]
    commands: Mapping[str, str]


def crontab() -> Crontab:
    """Read conf/cron/lagoon.cron: an escaped % stands for %, and any other % would end the command."""
    lines = (CONF / "cron" / "lagoon.cron").read_text().splitlines()
    variables, commands = {}, {}
    for line in (line for line in lines if line and not line.startswith("#")):
        if assignment := _ASSIGNMENT.fullmatch(line):
            variables[assignment[1]] = assignment[2]
            continue
        *schedule, command = line.split(maxsplit=5)
        assert all(re.fullmatch(r"[\d*/,-]+", field) for field in schedule), line
        assert not re.search(r"(?<!\\)%", command), line
        (job,) = re.findall(r"^\(date [^;]+; \$ALONE \S+ \$LIMIT \d+[mh] \$LAGOON (\w+)", command)
        commands[job] = command.replace(r"\%", "%")
    return Crontab(variables, commands)


def unit(name: str) -> configparser.ConfigParser:
    """Read a unit of systemd."""
    parsed = configparser.ConfigParser(interpolation=None, comment_prefixes="#")
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read_string((UNITS / name).read_text())
    return parsed


def exec_start(name: str, instance: str = "") -> str:
    """Return the command of a unit for sh: %% and $$ stand for % and $, and %i is the text after the @."""
    command = unit(name)["Service"]["ExecStart"]
    assert not re.search(r"%(?!i)|\$", re.sub(r"%%|\$\$", "", command)), command
    return shlex.join(shlex.split(command.replace("%i", instance).replace("%%", "%").replace("$$", "$")))


def manifests() -> list[dict[str, Any]]:
    """Return the documents of conf/kubernetes/cronjob.yaml."""
    items: list[dict[str, Any]] = yaml.safe_load((CONF / "kubernetes" / "cronjob.yaml").read_text())["items"]
    return items


def cron_jobs() -> dict[str, dict[str, Any]]:
    """Return the specification of each CronJob, by the job that it runs."""
    named = {item["metadata"]["name"]: item["spec"] for item in manifests() if item["kind"] == "CronJob"}
    return {name.removeprefix("lagoon-"): spec for name, spec in named.items()}


def container(job: str) -> dict[str, Any]:
    """Return the only container of a CronJob."""
    (only,) = cron_jobs()[job]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    return dict(only)


def dockerfile(instruction: str) -> list[str]:
    """Return the arguments of each occurrence of an instruction."""
    text = (CONF / "docker" / "Dockerfile").read_text().replace("\\\n", " ")
    return re.findall(rf"^{instruction} +(.*)$", text, re.MULTILINE)


def container_command(job: str) -> str:
    """Return the command that tini runs in a CronJob, for sh: Kubernetes replaces $$ and $(NAME)."""
    *init, _ = json.loads(dockerfile("ENTRYPOINT")[0])
    words = container(job)["command"]
    assert words[: len(init)] == init
    words = words[len(init) :]
    assert not any(re.search(r"\$\(", re.sub(r"\$\$", "", word)) for word in words), words
    return shlex.join(word.replace("$$", "$") for word in words)
