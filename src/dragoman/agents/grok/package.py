"""The npm package of Grok Build: the tested version, and its hash."""

from __future__ import annotations

from dragoman.facts import Package

# As npm reports it for this version. `@xai-official/grok` only depends on these packages; a script
# of its own, which we do not run, would unpack the program and put a link to it into the home.
_INTEGRITY = {
    "linux-x64": "sha512-5KS0AMeGYQh3++0EEZPKVjAcalFQma8K5SKMhBu1k1OVNpA/lO+fR"
    "gecS1/kOsLaGaPDPfQm611Z+a5J9dLfAg==",
}

PACKAGE = Package(
    version="1.0.41",
    names={platform: f"@xai-official/grok-{platform}" for platform in _INTEGRITY},
    integrity=_INTEGRITY,
    executable="bin/grok",
    compressed="bin/grok.br",
)
"""The npm packages that hold its native program, one for each platform."""
