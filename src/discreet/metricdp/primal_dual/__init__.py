"""The state of the primal-dual method, and mending its iterates."""
