"""Recordings of agents: written, cleaned, replayed, and played into an adapter."""
