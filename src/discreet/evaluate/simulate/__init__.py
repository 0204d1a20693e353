"""Benches on synthetic data: mechanisms are run, attacked and measured where the truth is known and nobody's."""
