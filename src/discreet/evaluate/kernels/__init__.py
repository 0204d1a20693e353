"""Compiled loops of attacks."""
