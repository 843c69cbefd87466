"""Histories of loads, faults and jobs on real clusters, and a judge of what the tables then say: see README.md."""
