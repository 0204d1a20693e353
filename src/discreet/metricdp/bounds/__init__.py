"""From a solver's answer to what is proven: lower bounds from multipliers, repair, tails."""
