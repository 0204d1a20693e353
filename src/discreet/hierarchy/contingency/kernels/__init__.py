"""Compiled loops of tables by region."""
