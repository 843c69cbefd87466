"""Plays histories on real clusters: the verbs of topics, jobs, tables and brokers, and the end, when every fault is over."""
