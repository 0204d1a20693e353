"""What a paper prints and has no valid guarantee: for ``reproduce``, audits and attacks, each with the reason."""
