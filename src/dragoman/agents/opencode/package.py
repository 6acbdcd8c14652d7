"""Where OpenCode comes from, and the version that everything here is proven with."""

from __future__ import annotations

from dragoman.facts import Package

# As npm reports them for this version; proven on linux-x64.
_INTEGRITY = {
    "linux-x64": "sha512-q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBs"
    "rI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw==",
}
_PLATFORMS = ("linux-x64",)

PACKAGE = Package(
    version="1.18.33",
    names={platform: f"opencode-{platform}" for platform in _PLATFORMS},
    integrity=_INTEGRITY,
    executable="bin/opencode",
)
"""The npm packages that hold its native program, one for each platform."""
