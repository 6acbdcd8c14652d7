"""Webhooks: events sent to receivers, in order, until each was taken."""
