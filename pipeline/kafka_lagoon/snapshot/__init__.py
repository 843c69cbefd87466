"""Collects the state tables of a cluster: rows, and failures beside them. Knows nothing of Spark."""
