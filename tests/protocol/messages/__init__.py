"""What is surprising about single APIs, byte by byte."""
