"""Lower bounds on the information loss of every k-anonymous table."""
