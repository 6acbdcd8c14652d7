"""The npm package of Claude Code: the tested version, and the hash for each platform."""

from __future__ import annotations

from dragoman.facts import OlderPackage, Package

# As npm reports them for this version; tested on linux-x64.
_INTEGRITY = {
    "linux-x64": "sha512-BqZzMvP/zgLLL34S+7OzbG+cyoFp7gwWHU5koVwsyMlTAz+0zZAmb"
    "Y+UkzvtN2RXxp6AcMenbYIjQJxoXfUY3w==",
    "linux-arm64": "sha512-NCvQcOxr685Y4mkYUjQT8l/Ouzw0k2xWloWeyzfsUtWiOedHosPka"
    "W6XCSpzAl1dMuvDNBF97qpWgVDrSdK2Vw==",
    "linux-x64-musl": "sha512-oGdN1c/gsReTlQ5lAktxX8AV7bt3USQsGrTDlFjf+bdIk7Kc8GCTZ"
    "LGS7aBh59vGsgn4Oz255v/SSZ7+6wWz6g==",
    "linux-arm64-musl": "sha512-xZLgceKCX42bUXTqz3Cd1Tc7Li43ys8+gO1SA8ZKJ4q+a0ALv+N2L"
    "HQUC1Sr+AY3Qv16VQU/yAvU/iS24CuJdg==",
    "darwin-arm64": "sha512-Ds1f1B+qy2BWDI+VnmDHwkNyTbXCwFrBtrinPD95RBmUubFJu9nCz"
    "Mgn+wrg5VwwF6vtkkzGexogneZIYZKb6A==",
    "darwin-x64": "sha512-+wTK42IT/b5GZHxAVVMLNnCHG/CtngztTE6fNn5s4h47LNXrDQz2R"
    "pPLsY5XHr8astNzk7GWPU8GecCG+5EEIQ==",
}

PACKAGE = Package(
    version="2.1.325",
    names={platform: f"@anthropic-ai/claude-code-{platform}" for platform in _INTEGRITY},
    integrity=_INTEGRITY,
    executable="claude",
    # A script, which needs Node.js.
    older=OlderPackage(before="2.1.113", name="@anthropic-ai/claude-code", executable="cli.js"),
)
"""The npm package."""
