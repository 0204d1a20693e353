"""Places: regions, road networks, and integers in the plane."""
