"""A cluster in, rows of the state tables out, failures beside them. Knows nothing of Spark."""
