"""The jobs: one module each, which does its steps in their order and returns what came of them."""
