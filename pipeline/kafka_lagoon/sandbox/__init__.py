"""Runs a real Kafka on this machine's loopback, from Java and jars of a lock file: for `make demo`, tests and benchmarks."""
