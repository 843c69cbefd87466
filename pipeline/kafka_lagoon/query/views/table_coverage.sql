CREATE OR REPLACE VIEW table_coverage (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'A published snapshot.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  table_name COMMENT 'A table of the snapshot whose rows are a list from the brokers.',
  visibility COMMENT 'Of topics and groups: complete (the permission to see everything is proven), filtered or unknown (the list may be incomplete), or chosen (settings leave items out); null for other tables.',
  problem COMMENT 'Why missing rows mean nothing: SKIPPED, UNSUPPORTED_VERSION, SECURITY_DISABLED, the name of an error, or NOTHING_VISIBLE (an empty list that is not proven to be complete). Null if the list is complete, except for single entities that did not answer (configs, log_dirs, features, committed_offsets): described_entities and collection_failures have these.',
  place COMMENT 'Number of the snapshot, from 1, among the snapshots of the cluster with a complete list; null if problem is set.',
  previous_snapshot_id COMMENT 'The previous snapshot with the whole list; null if there is none, or problem is set.',
  previous_snapshot_date COMMENT 'UTC day of that snapshot; null if there is none.',
  previous_captured_at COMMENT 'When that snapshot began; null if there is none.',
  previous_visibility COMMENT 'Its visibility; null if there is none.'
)
COMMENT 'Tables of each published snapshot in which a missing row means that the entity is gone, unless a failure of its own is in collection_failures, and the earlier snapshot to compare them with: one row per requested table and snapshot.'
AS
WITH sources AS (
  -- is_needed: nothing is known without the API. is_list: the API returns the whole table, so that its failure hides every row.
  -- A failure of another API hides some rows; topology_changes finds them by the column ground of topology_facts.
  SELECT * FROM (VALUES
    ('brokers', 'Metadata', TRUE, TRUE),
    ('brokers', 'DescribeCluster', FALSE, TRUE),
    ('topics', 'Metadata', TRUE, TRUE),
    ('consumer_groups', 'ListGroups', TRUE, TRUE),
    ('committed_offsets', 'ListGroups', TRUE, TRUE),
    ('committed_offsets', 'OffsetFetch', FALSE, TRUE),
    ('configs', 'DescribeConfigs', TRUE, FALSE),
    ('log_dirs', 'DescribeLogDirs', TRUE, FALSE),
    ('quorum', 'DescribeQuorum', TRUE, TRUE),
    ('features', 'ApiVersions', TRUE, FALSE),
    ('acls', 'DescribeAcls', TRUE, TRUE),
    ('quotas', 'DescribeClientQuotas', TRUE, TRUE),
    ('scram_users', 'DescribeUserScramCredentials', TRUE, TRUE),
    ('delegation_tokens', 'DescribeDelegationToken', TRUE, TRUE),
    ('reassignments', 'ListPartitionReassignments', TRUE, TRUE),
    ('producers', 'DescribeProducers', FALSE, FALSE)
  ) AS listed (table_name, api, is_needed, is_list)
),
asked AS (
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    api,
    CASE
      WHEN count(CASE WHEN not_collected_because = 'LEFT_OUT' THEN 1 END) > 0 THEN 'chosen'
      ELSE max(visibility)
    END AS visibility,
    -- A list that settings shorten may be proven, too: then it is empty because they leave everything out.
    max(visibility) = 'complete' AS is_proven,
    count(CASE WHEN not_collected_because IS NULL THEN 1 END) AS asked,
    max(not_collected_because) AS not_collected_because
  FROM coverage
  WHERE skipped_table IS NULL
  GROUP BY cluster, snapshot_id, snapshot_date, api
),
skipped AS (
  SELECT DISTINCT cluster, snapshot_id, snapshot_date, skipped_table FROM coverage WHERE skipped_table IS NOT NULL
),
failed AS (
  SELECT cluster, snapshot_id, snapshot_date, api, max(error_name) AS error_name
  FROM collection_failures
  WHERE coalesce(scope_type, 'list') IN ('cluster', 'broker', 'list')
  GROUP BY cluster, snapshot_id, snapshot_date, api
),
judged AS (
  SELECT
    snapshots.cluster,
    snapshots.cluster_id,
    snapshots.snapshot_id,
    snapshots.snapshot_date,
    snapshots.captured_at,
    sources.table_name,
    max(CASE WHEN sources.table_name IN ('topics', 'consumer_groups') THEN asked.visibility END) AS visibility,
    max(
      CASE
        -- Version 0.1.0 had no other tables, and sent requests of some of them for other purposes.
        WHEN snapshots.software_version LIKE '0.1.%'
          AND sources.table_name NOT IN ('brokers', 'topics', 'consumer_groups', 'committed_offsets') THEN 'NOT_ASKED'
        WHEN skipped.skipped_table IS NOT NULL THEN 'SKIPPED'
        WHEN sources.is_list AND failed.error_name IS NOT NULL THEN failed.error_name
        WHEN sources.is_needed AND asked.api IS NULL THEN 'NOT_ASKED'
        WHEN sources.is_needed AND asked.asked = 0 THEN asked.not_collected_because
        WHEN asked.is_proven THEN NULL
        WHEN sources.table_name = 'topics' AND snapshots.topics = 0 THEN 'NOTHING_VISIBLE'
        WHEN sources.api = 'ListGroups' AND snapshots.groups = 0 THEN 'NOTHING_VISIBLE'
      END
    ) AS problem
  FROM snapshots
  CROSS JOIN sources
  LEFT JOIN asked
    ON snapshots.cluster = asked.cluster
    AND snapshots.snapshot_id = asked.snapshot_id
    AND snapshots.snapshot_date = asked.snapshot_date
    AND sources.api = asked.api
  LEFT JOIN skipped
    ON snapshots.cluster = skipped.cluster
    AND snapshots.snapshot_id = skipped.snapshot_id
    AND snapshots.snapshot_date = skipped.snapshot_date
    AND sources.table_name = skipped.skipped_table
  LEFT JOIN failed
    ON snapshots.cluster = failed.cluster
    AND snapshots.snapshot_id = failed.snapshot_id
    AND snapshots.snapshot_date = failed.snapshot_date
    AND sources.api = failed.api
  GROUP BY
    snapshots.cluster,
    snapshots.cluster_id,
    snapshots.snapshot_id,
    snapshots.snapshot_date,
    snapshots.captured_at,
    sources.table_name
),
placed AS (
  SELECT
    judged.*,
    row_number() OVER (
      PARTITION BY cluster, cluster_id, table_name, problem IS NULL ORDER BY captured_at, snapshot_id
    ) AS place,
    lag(snapshot_id) OVER (
      PARTITION BY cluster, cluster_id, table_name, problem IS NULL ORDER BY captured_at, snapshot_id
    ) AS previous_snapshot_id,
    lag(snapshot_date) OVER (
      PARTITION BY cluster, cluster_id, table_name, problem IS NULL ORDER BY captured_at, snapshot_id
    ) AS previous_snapshot_date,
    lag(captured_at) OVER (
      PARTITION BY cluster, cluster_id, table_name, problem IS NULL ORDER BY captured_at, snapshot_id
    ) AS previous_captured_at,
    lag(visibility) OVER (
      PARTITION BY cluster, cluster_id, table_name, problem IS NULL ORDER BY captured_at, snapshot_id
    ) AS previous_visibility
  FROM judged
)
SELECT
  cluster,
  cluster_id,
  snapshot_id,
  snapshot_date,
  captured_at,
  table_name,
  visibility,
  problem,
  CASE WHEN problem IS NULL THEN CAST(place AS BIGINT) END AS place,
  CASE WHEN problem IS NULL THEN previous_snapshot_id END AS previous_snapshot_id,
  CASE WHEN problem IS NULL THEN previous_snapshot_date END AS previous_snapshot_date,
  CASE WHEN problem IS NULL THEN previous_captured_at END AS previous_captured_at,
  CASE WHEN problem IS NULL THEN previous_visibility END AS previous_visibility
FROM placed
WHERE problem IS DISTINCT FROM 'NOT_ASKED'
