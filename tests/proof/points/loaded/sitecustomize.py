"""Loaded by each Python process that has this folder on PYTHONPATH: names the durable effects of a job (durable_effects.py)."""

import os

if "EFFECTS_LOG" in os.environ:
    import durable_effects

    durable_effects.install()
