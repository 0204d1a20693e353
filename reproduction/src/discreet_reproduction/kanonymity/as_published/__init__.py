"""Published algorithms that are not k-anonymous, each with the reason. Nothing here is used by a release."""
