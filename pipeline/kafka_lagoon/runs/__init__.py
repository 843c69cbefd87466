"""The jobs: one module each, which does the steps of a run in their order and returns what it has done.

A run prints nothing and knows no command line: cli/ reads arguments, prints what a run returns and makes exit codes of it.
"""
