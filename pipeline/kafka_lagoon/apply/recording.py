"""Makes the rows of admin_actions: one before an action is sent, and one with its outcome."""

import json
import os
import platform
import pwd
from collections.abc import Sequence
from dataclasses import field
from typing import Protocol

from kafka_lagoon import __version__
from kafka_lagoon.apply.action import Action, Plan, State, json_values
from kafka_lagoon.apply.outcomes import ActionResult
from kafka_lagoon.frozen import frozen
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.tables.write_rows import AdminActionRow
from kafka_lagoon.uuid7 import new_id

STARTED, FINISHED = "started", "finished"


class Recorder(Protocol):
    """Stores the rows of actions, so that it is known what was asked of a cluster even if the run dies."""

    def write(self, rows: Sequence[AdminActionRow]) -> None:
        """Store rows permanently before returning; TableError if that is not possible."""


class NoRecorder:
    """Stores nothing: for runs whose settings name no warehouse."""

    def write(self, rows: Sequence[AdminActionRow]) -> None:
        """Drop the rows."""


def operating_system_user() -> str:
    """Name of the user that runs this process, or its number if it has no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def principal_of(kafka: KafkaSettings) -> str | None:
    """The user that the settings name for SASL; None for certificates, and for tokens except unsecured ones of OAuth."""
    login = kafka.login_settings()
    if not login.uses_sasl() or login.sasl_scram_tokenauth:
        return None
    return login.sasl_username or login.sasl_kerberos_principal or login.sasl_oauthbearer_unsecured_principal


@frozen
class Run:
    """Values that all rows of a run have."""

    run_id: str
    job: str
    principal: str | None
    user: str = field(default_factory=operating_system_user)
    host: str = field(default_factory=platform.node)

    @classmethod
    def new(cls, job: str, kafka: KafkaSettings, now_ms: int) -> "Run":
        """Begin a run of a job (apply, admin, restore)."""
        return cls(run_id=new_id(now_ms), job=job, principal=principal_of(kafka))

    def started(self, plan: Plan, action: Action, action_id: str, at_ms: int) -> AdminActionRow:
        """The row that says that an action is about to be sent."""
        return self._row(plan, action, action_id, at_ms, None)

    def finished(self, plan: Plan, result: ActionResult, at_ms: int) -> AdminActionRow:
        """The row with the outcome of an action."""
        return self._row(plan, result.action, result.action_id, at_ms, result)

    def _row(
        self, plan: Plan, action: Action, action_id: str, at_ms: int, result: ActionResult | None
    ) -> AdminActionRow:
        failure = result.failure if result else None
        return AdminActionRow(
            action_id=action_id,
            run_id=self.run_id,
            job=self.job,
            plan_id=plan.id,
            cluster=plan.cluster,
            cluster_id=plan.cluster_id,
            event=FINISHED if result else STARTED,
            at_ms=at_ms,
            kind=action.kind,
            resource_type=action.resource.type,
            resource_name=action.resource.name,
            before=_json(action.before),
            after=_json(action.after),
            guards=tuple(sorted(action.guards)),
            outcome=result.outcome if result else None,
            error_code=failure.code if failure else None,
            error_name=failure.name if failure else None,
            message=result.message if result else None,
            source=action.source,
            user=self.user,
            host=self.host,
            principal=self.principal,
            software_version=__version__,
        )


def _json(state: State) -> str | None:
    return None if state is None else json.dumps(json_values(state), sort_keys=True)
