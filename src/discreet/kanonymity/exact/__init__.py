"""The optimum by set partitioning: columns, cuts, branch and bound, exact prices of classes."""
