"""Designs that start from the published programs and are made private: audited, and with frozen scales."""
