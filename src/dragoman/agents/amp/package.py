"""The npm package of Amp: the tested version, and its hash."""

from __future__ import annotations

from dragoman.facts import Package

# As npm reports it for this version. `@sourcegraph/amp` only depends on these packages, and a
# script of its own, which we do not run, would put the program from here beside itself.
_INTEGRITY = {
    "linux-x64": "sha512-BsQyuBKf9jYno4vknDM9Mx20iOurO8/G14aaHZCMT1H1TlrOIOWH4"
    "//1ZwBll1/AneOxc+mqkoF0f3N/3fr/eA==",
}

PACKAGE = Package(
    version="0.0.1790142911-g7618fb",
    names={platform: f"@ampcode/cli-{platform}" for platform in _INTEGRITY},
    integrity=_INTEGRITY,
    executable="amp",
)
"""The npm packages that hold its native program, one for each platform."""
