"""Reads the desired state of a cluster from TOML, YAML or rows of a table, and writes one from a live cluster.

Every value keeps the place where it was written, so that each fault names its file and line.
"""
