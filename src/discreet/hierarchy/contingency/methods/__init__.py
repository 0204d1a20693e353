"""Published ways to make tables from noisy marginals, on our measurements: what they give has our guarantee."""
