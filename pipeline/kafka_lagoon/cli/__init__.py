"""Arguments in, exit codes and readable lines out: what `lagoon` and the jobs share."""
