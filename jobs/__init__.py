"""What spark-submit starts: one file per job, each also `lagoon <name>`."""
