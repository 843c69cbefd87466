"""Reads and writes Kafka's wire format: values, declared messages and frames; knows no API and no socket."""
