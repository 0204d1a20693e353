"""Compiled loops of the ground."""
