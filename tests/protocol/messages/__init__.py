"""Surprising facts about single APIs, byte by byte."""
