"""Processes that many sessions share."""
