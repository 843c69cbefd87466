"""Commands that answer from the tables, without Spark where they are a folder: `lagoon lag`, `health` and `changes`."""
