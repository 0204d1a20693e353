"""What is maximized: monotone submodular and k-submodular functions that records add up to."""
