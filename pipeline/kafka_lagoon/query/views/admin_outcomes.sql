CREATE OR REPLACE VIEW admin_outcomes (
  action_id COMMENT 'The action (UUIDv7).',
  run_id COMMENT 'The run that it belongs to (UUIDv7); ids sort by time.',
  job COMMENT 'apply, admin or restore.',
  plan_id COMMENT 'The plan that it belongs to, as `lagoon plan` prints it.',
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id that the cluster gave itself.',
  started_at COMMENT 'When it was about to be sent.',
  finished_at COMMENT 'When its outcome was written; null if the run has not come so far, or died.',
  kind COMMENT 'What it does: create_topic, alter_configs, ...',
  resource_type COMMENT 'Type of the resource: topic, partition, group, acl, ...',
  resource_name COMMENT 'Name of the resource within its type.',
  before COMMENT 'What the cluster had, as JSON; null if the resource did not exist.',
  after COMMENT 'What was asked for, as JSON; null if it is removed.',
  guards COMMENT 'Options without which it is refused.',
  outcome COMMENT 'done; failed: refused, or nothing changed; unknown: sent, and neither an answer nor the live state tells, or the run died, or has not come so far.',
  error_code COMMENT 'Error code of Kafka; null if no broker gave one.',
  error_name COMMENT 'Name of the error; null if there is none.',
  message COMMENT 'What the broker said, or we; null if there is nothing to say.',
  source COMMENT 'File and line that asked for it; null if a command line did.',
  user COMMENT 'Who ran it: the name that the operating system gives.',
  host COMMENT 'Where it ran.',
  principal COMMENT 'The user of SASL; null if a certificate, a token or nothing tells it.',
  software_version COMMENT 'Version of this package.'
)
COMMENT 'Every alteration of a cluster that was attempted, one row each, with its outcome.'
AS
SELECT
  started.action_id,
  started.run_id,
  started.job,
  started.plan_id,
  started.cluster,
  started.cluster_id,
  started.at AS started_at,
  finished.at AS finished_at,
  started.kind,
  started.resource_type,
  started.resource_name,
  started.before,
  started.after,
  started.guards,
  coalesce(finished.outcome, 'unknown') AS outcome,
  finished.error_code,
  finished.error_name,
  finished.message,
  started.source,
  started.user,
  started.host,
  started.principal,
  started.software_version
FROM admin_actions AS started
LEFT JOIN admin_actions AS finished
  ON finished.action_id = started.action_id
  AND finished.event = 'finished'
WHERE started.event = 'started'
