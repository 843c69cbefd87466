CREATE OR REPLACE VIEW admin_outcomes (
  action_id COMMENT 'The action (UUIDv7).',
  run_id COMMENT 'Id of its run (UUIDv7); ids sort by time.',
  job COMMENT 'apply, admin or restore.',
  plan_id COMMENT 'Id of its plan, as `lagoon plan` prints it.',
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka.',
  started_at COMMENT 'When its row was written, just before it was sent.',
  finished_at COMMENT 'When its outcome was written; null if the run has not finished it yet, or died.',
  kind COMMENT 'The kind of action: create_topic, alter_configs, ...',
  resource_type COMMENT 'Type of the resource: topic, partition, group, acl, ...',
  resource_name COMMENT 'Name of the resource within its type.',
  before COMMENT 'The state before, as JSON; null if the resource did not exist.',
  after COMMENT 'The requested state, as JSON; null if it is removed.',
  guards COMMENT 'Options that it needs; without them it is refused.',
  outcome COMMENT 'done; failed: refused, or not sent; unknown: sent, and neither an answer nor the live state shows it, or the run died, or has not finished it yet.',
  error_code COMMENT 'Error code of Kafka; null if no broker gave one.',
  error_name COMMENT 'Name of the error; null if there is none.',
  message COMMENT 'Message of the broker, or of Kafka Lagoon; null if there is none.',
  source COMMENT 'File and line that requested it; null for a command line.',
  user COMMENT 'Operating system user who ran it.',
  host COMMENT 'Name of the machine that it ran on.',
  principal COMMENT 'User name of SASL, or the principal in the settings for Kerberos or an unsecured OAuth token; null for login by another token (delegation tokens, OAuth), and without SASL.',
  software_version COMMENT 'Version of this package.'
)
COMMENT 'Every attempted alteration of a cluster with its outcome, one row per action.'
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
