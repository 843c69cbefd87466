"""Tests of the Kafka that we start ourselves."""
