"""The verbs of `lagoon kafka`, one module each: they ask a cluster and print rows for people or scripts, without Spark."""
