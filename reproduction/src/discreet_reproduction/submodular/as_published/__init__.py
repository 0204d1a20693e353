"""Published algorithms without a valid guarantee, each with the reason. Nothing here is used by a release."""
