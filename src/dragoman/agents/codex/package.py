"""Where Codex comes from, and the version that everything here is proven with."""

from __future__ import annotations

from dragoman.facts import Package

# As npm reports them for this version; proven on linux-x64.
_INTEGRITY = {
    "linux-x64": "sha512-CxDm3+D1cpbGJeHrdzINoG+3wn9BVncP4qpZaaNYkxe8iPtRJOYyC"
    "JnnPoVjWRIBvI9vPKbRoifsMSA5xDaUpw==",
    "linux-arm64": "sha512-w0ScAsBr9aZKtIFrh6HN6KU2yjKKeSCzYfbb7DB0Ccj4BYPzeZtUe"
    "QprbycLCwuX3AFQdbdjapmLho2iot74jQ==",
    "darwin-x64": "sha512-Vj5wXJPizKmrzNtnRNQf9PP6FJkG3iJU/UO3NE4WvkENZGoQfmImd"
    "wf4MVRI5NgwjSuC6LT0HbBRHPVVnwGHuw==",
    "darwin-arm64": "sha512-5fWH6qqUInACcRADIewjlnRxDb4QLe0uriwehiZz0+viuAAB8I+WW"
    "efqw4xwHvyKaxeiGX4uK56+vrgfvFk3FQ==",
}
_TARGETS = {
    "linux-x64": "x86_64-unknown-linux-musl",
    "linux-arm64": "aarch64-unknown-linux-musl",
    "darwin-x64": "x86_64-apple-darwin",
    "darwin-arm64": "aarch64-apple-darwin",
}
# Its Linux builds need no libc of the machine.
_BUILDS = {name: name for name in _TARGETS} | {
    f"{name}-musl": name for name in ("linux-x64", "linux-arm64")
}

PACKAGE = Package(
    version="0.166.0",
    names=dict.fromkeys(_BUILDS, "@openai/codex"),
    suffixes={platform: f"-{build}" for platform, build in _BUILDS.items()},
    integrity={platform: _INTEGRITY[build] for platform, build in _BUILDS.items()},
    executable={
        platform: f"vendor/{_TARGETS[build]}/bin/codex" for platform, build in _BUILDS.items()
    },
    former={
        platform: f"vendor/{_TARGETS[build]}/codex/codex" for platform, build in _BUILDS.items()
    },
)
"""The npm package: one name, and a version for each platform."""
