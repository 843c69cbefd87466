"""The verbs of `lagoon kafka`, one module each: they read from a live cluster and print rows for people or scripts."""
