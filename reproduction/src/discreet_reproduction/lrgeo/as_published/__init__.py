"""LR-Geo as [QLPSX24]_ prints it: composed over users it is not private. Nothing here is used by the service."""
