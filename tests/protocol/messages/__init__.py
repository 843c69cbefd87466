"""Surprising facts of single APIs, byte by byte."""
