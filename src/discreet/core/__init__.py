"""The ground: guarantees, channels, spaces, randomness and solvers. No mechanism, no I/O, no optional dependency."""
