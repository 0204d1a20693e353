"""Local search over unions of near classes."""
