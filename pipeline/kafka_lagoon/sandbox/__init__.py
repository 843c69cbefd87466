"""A real Kafka on this machine's loopback, from Java and a lock file of jars: for `make demo` and the tests."""
