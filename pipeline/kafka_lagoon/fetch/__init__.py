"""The consuming side: plans offset specs as ranges and splits, and reads splits into Arrow batches. Knows nothing of Spark."""
