"""Probes that try out an agent, and tell where it is not what its adapter declares."""

from __future__ import annotations

from dragoman.testing.conform.probe import NoRecipe, Probe, ProbeFailure
from dragoman.testing.conform.probes import PROBES, select
from dragoman.testing.conform.report import (
    Breach,
    ConformReport,
    Finding,
    Row,
    UnaccountedMessage,
    row,
)
from dragoman.testing.conform.run import Watch, conform

__all__ = [
    "PROBES",
    "Breach",
    "ConformReport",
    "Finding",
    "NoRecipe",
    "Probe",
    "ProbeFailure",
    "Row",
    "UnaccountedMessage",
    "Watch",
    "conform",
    "row",
    "select",
]
