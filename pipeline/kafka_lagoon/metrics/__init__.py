"""Metrics of runs and of the newest snapshots, as files for the textfile collector of Prometheus' node_exporter."""
