"""Implements the SASL mechanisms, one in each module; none of them opens a connection to a broker."""
