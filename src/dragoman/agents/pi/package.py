"""The npm package of Pi: the tested version, the Node.js that runs it, and their hashes."""

from __future__ import annotations

from dragoman.agents.node import NODE
from dragoman.facts import Bundle, OlderPackage, Package

_NAME = "@earendil-works/pi-coding-agent"
_INTEGRITY = (
    "sha512-xNDZ5kqowO6Z03FS2gwAkPEGk1ssxVcYKQ6qZId84mFEvwACvvyc2l0vAMOS"
    "+c5zvxLRMLBE9r4y44IGYkMJaQ=="
)

PACKAGE = Package(
    version="1.5.0",
    names=dict.fromkeys(NODE.names, _NAME),
    integrity=dict.fromkeys(NODE.names, _INTEGRITY),
    executable="dist/bundle/cli.js",
    former=dict.fromkeys(NODE.names, "dist/cli.js"),
    older=OlderPackage(
        before="0.74.0", name="@mariozechner/pi-coding-agent", executable="dist/cli.js"
    ),
    # Pi 1.5.0 needs Node.js 22.19 or newer, which few machines have.
    interpreter=NODE,
    # Some registries lack packages that 1.5.0 depends on; its bundle holds them. It loads
    # extensions with jiti and typebox, and makes images smaller with photon, from beside it.
    bundle=Bundle(
        since="1.5.0",
        beside={"jiti": "2.7.0", "typebox": "1.3.27", "@silvia-odwyer/photon-node": "0.3.4"},
    ),
)
"""The npm package."""
