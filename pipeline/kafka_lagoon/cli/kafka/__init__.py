"""One question to a cluster in, rows for people or scripts out, without Spark: the verbs of `lagoon kafka`."""
