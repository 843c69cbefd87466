"""Tests of metrics: Prometheus' own parser reads what is written, and SQL counts what is in it once more."""
