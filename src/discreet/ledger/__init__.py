"""Budgets of datasets in one file, charged before data are read."""

from discreet.ledger.book import Charge, Ledger

__all__ = ["Charge", "Ledger"]
