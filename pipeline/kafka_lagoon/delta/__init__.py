"""Writes and maintains the Delta tables. It knows nothing of Kafka."""
