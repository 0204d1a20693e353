"""Audits: try to break what a mechanism or a file claims."""
