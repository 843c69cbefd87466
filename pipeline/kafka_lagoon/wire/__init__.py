"""Kafka's encoding rules: classes and versions in, readers and writers out. Knows no API and no socket."""
