"""Collects the state tables of a cluster as rows, with a failure for everything that could not be read.

It does not use Spark.
"""
