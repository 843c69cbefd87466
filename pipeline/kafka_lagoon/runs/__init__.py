"""The jobs, one module each: the steps of a run in their order.

A run prints nothing and knows no command line: cli/ parses arguments, prints the results of a run and returns its exit code.
"""
