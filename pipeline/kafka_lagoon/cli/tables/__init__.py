"""Commands that query the tables, without Spark if the tables are in a folder: `lagoon lag`, `health` and `changes`."""
