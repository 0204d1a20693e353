"""Audits, attacks, utility and comparisons of mechanisms."""
