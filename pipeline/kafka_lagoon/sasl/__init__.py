"""Implements the SASL mechanisms, one in each module, without connections to brokers."""
