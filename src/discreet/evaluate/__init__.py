"""Judges: what mechanisms lose, keep, and cost to make."""
