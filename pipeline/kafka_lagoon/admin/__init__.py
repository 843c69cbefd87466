"""Reads the state of a cluster by area, as Kafka's Admin client does: messages and failures side by side, no rows."""
