"""Lists the permissions that each command needs on the cluster, for docs/permissions.md and for `lagoon doctor`."""

from collections.abc import Iterable, Mapping

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.cli.main import declaration
from kafka_lagoon.cli.permissions import READ_TOPIC, Requirement
from kafka_lagoon.cli.registry import COMMANDS
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.protocol import acls
from kafka_lagoon.snapshot.collectors import required_permissions
from kafka_lagoon.text import did_you_mean

# Their modules need PySpark or DuckDB, and `lagoon doctor` does without. Every other command declares its own.
OF_JOBS: Mapping[str, Requirement] = {
    "snapshot": Requirement(
        permissions=required_permissions(),
        remark="Permissions that only the tables of `snapshot.skip_tables` need are not needed.",
    ),
    "ingest": Requirement(
        permissions=(READ_TOPIC,),
        remark="A topic with DESCRIBE and without READ matches a pattern: its ranges are not archived, the run names the "
        "topic and the ACL, and ends with 3. A topic without either is not seen, and a line says that there may be such. With "
        "DESCRIBE on Cluster too, large partitions are read in parts. With DESCRIBE_CONFIGS on Topic offsets that the log "
        "lacks count as lost if the topic is not compacted; without it they count as compacted.",
    ),
    "restore": Requirement(
        permissions=(
            Permission(acls.WRITE, acls.TOPIC, "refused"),
            Permission(acls.READ, acls.TOPIC, "what was written cannot be read back"),
            Permission(acls.DESCRIBE_CONFIGS, acls.TOPIC, "refused"),
        ),
        remark="Topics that it creates also want CREATE on Topic or Cluster, and DESCRIBE_CONFIGS on Cluster tells their "
        "defaults before. With --with-acls DESCRIBE and ALTER on Cluster, with --with-offsets READ on Group, with "
        "--transactional WRITE on TransactionalId and READ on Group, both for names that begin with lagoon-restore-. Brokers "
        "before 2.8 also want IDEMPOTENT_WRITE on Cluster.",
    ),
    "compare": Requirement(permissions=(READ_TOPIC,), remark="On both topics."),
}


def requirements_of(name: str) -> dict[str, Requirement]:
    """The permissions of a command by its forms, as they are typed."""
    if name in OF_JOBS:
        return {name: OF_JOBS[name]}
    return {f"{name} {form}".rstrip(): requirement for form, requirement in declaration(name).requires.items()}


def _requirement_of(form: str) -> Requirement | None:
    """The permissions of one form of a command; None for an unknown one."""
    words = form.split()
    for name in (" ".join(words[:2]), *words[:1]):
        if name in COMMANDS and COMMANDS[name].place:
            return requirements_of(name).get(form)
    return None


def required_for(forms: Iterable[str]) -> dict[str, Requirement]:
    """The permissions of the forms that `--for` names; ConfigError says of the others what to write instead."""
    required = {form: _requirement_of(form) for form in forms}
    if unknown := [form for form, requirement in required.items() if requirement is None]:
        raise ConfigError([f"--for {form}: {_form_fault(form)}" for form in unknown])
    return {form: requirement for form, requirement in required.items() if requirement}


def _form_fault(form: str) -> str:
    """Make the reason why a form has no requirement, with what to write instead."""
    known = [name for name, listed in COMMANDS.items() if listed.place]
    if form not in known:
        return f"no such command{did_you_mean(form, known)}"
    if forms := requirements_of(form):
        return f"write one of {', '.join(forms)}"
    return "this command needs no permission: leave it out"
