"""What [Qiu24]_ and its code print, where that is not private or not a bound, each with the reason."""
