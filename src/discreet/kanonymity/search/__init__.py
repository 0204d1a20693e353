"""The search for a partition of little loss: its order of methods, orders of rows, local search, demands."""
