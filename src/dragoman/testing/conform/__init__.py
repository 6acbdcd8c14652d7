"""Probes that try out an agent, and tell where it is not what its adapter declares."""

from __future__ import annotations

from dragoman.testing.conform.probe import Missed, Probe, Untried
from dragoman.testing.conform.probes import PROBES, chosen
from dragoman.testing.conform.report import Breach, Finding, Lost, Report, Row, row
from dragoman.testing.conform.run import Watch, conform

__all__ = [
    "PROBES",
    "Breach",
    "Finding",
    "Lost",
    "Missed",
    "Probe",
    "Report",
    "Row",
    "Untried",
    "Watch",
    "chosen",
    "conform",
    "row",
]
