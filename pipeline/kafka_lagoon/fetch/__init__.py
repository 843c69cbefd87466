"""Offsets in, splits out; splits in, Arrow batches out. Runs on executors, knows nothing of Spark."""
