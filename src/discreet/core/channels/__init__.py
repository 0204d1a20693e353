"""Channels of integers: drawn exactly, rounded with proof, checked."""
