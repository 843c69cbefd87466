"""Tests of metrics: Prometheus' own parser reads the written text, and SQL computes the same values."""
