"""Benchmarks against peers: `make bench`, or `python -m tests.bench metadata lag job` for some of them.

What is compared runs in one run, on one machine, in turns, and gives the same result. What comes out is
a ratio; absolute times are never asserted.
"""
