"""The catalogue of well-known agents that speak ACP: how each is installed and started."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from dragoman.adapter import Spec
from dragoman.agents.acp import FEATURES, qwen
from dragoman.agents.node import NODE
from dragoman.dialects.acp.profile import Extension, NoExtension
from dragoman.facts import Feature, IgnoredMessage, Package, ProbeRecipes
from dragoman.schema.http import ModeInfo


class KnownAgent(Struct, frozen=True, kw_only=True):
    """What is known of an agent that needs no code."""

    id: str
    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = {}
    package: Package | None = None
    package_of: str = ""
    """The agent whose program this is too, started otherwise."""
    credentials: tuple[str, ...] = ()
    """Environment variables of which one must be set, unless somebody has signed in with its own
    program; empty: it has ways of its own."""
    auth_method: str | None = None
    """The ACP method to authenticate with, where it wants one."""
    verified: str | None = None
    """The version that was run through the daemon; None: none was."""
    modes: tuple[ModeInfo, ...] = ()
    """Those that it is known to have; a session begins with the first, which asks people. Empty:
    it begins as it is set up."""
    features: frozenset[Feature] = FEATURES
    extension: Callable[[Spec], Extension] = lambda spec: NoExtension()
    """What it adds to the protocol."""
    ignored: tuple[IgnoredMessage, ...] = ()
    """Its messages that leave no event, beside those of the protocol."""
    probe_recipes: ProbeRecipes | None = None
    """How probes make it act; None: as the agent whose program it is, if it is one's."""


def _script(version: str, name: str, executable: str, integrity: str, *, node: bool) -> Package:
    """A package of scripts, the same on every platform; `node`: it needs a newer Node.js than npm
    does."""
    return Package(
        version=version,
        names=dict.fromkeys(NODE.names, name),
        integrity=dict.fromkeys(NODE.names, integrity),
        executable=executable,
        interpreter=NODE if node else None,
    )


_GEMINI = _script(
    "0.61.0",
    "@google/gemini-cli",
    "bundle/gemini.js",
    "sha512-dbQ9A0qBtFJNi6XBkHvfZ6Azpn6PNgH/P8h2MZ67RLlX8hSAVjup3"
    "9CRWqdRxZv7YXIuhrFaytr8y0jKnkoxnQ==",
    node=False,
)
_QWEN = _script(
    "0.24.4",
    "@qwen-code/qwen-code",
    "cli-entry.js",
    "sha512-pmexy/Nj+BKd3Un1ogqGQE8V4GJn5B6N9PQOrU1GH+lMR29kn6Bgf"
    "6YdbZa8hNIoTmAKT1LTPK+P8TibZRPPVg==",
    node=True,
)
_KIMI = _script(
    "2.1.0",
    "@moonshot-ai/kimi-code",
    "dist/main.mjs",
    "sha512-c9rY0DS0xNOraEgUFJ5Cexz6+S3R+PczIwCVCI4eP93xv1xpIbyFL"
    "e6wyQl29VR9UMafmfQG6+dIyJcCLEAoBQ==",
    node=True,
)
_CLAUDE = _script(
    "0.99.1",
    "@agentclientprotocol/claude-agent-acp",
    "dist/index.js",
    "sha512-tK5lNtoI85IS0K8PVKYK86t/ARgCS1AjEw+u6QSNmdu0tbhyeB6FT"
    "NzFnGNIgsL/3xYwrQUMFDC6osT1aIPReQ==",
    node=True,
)
_CODEX = _script(
    "2.6.0",
    "@agentclientprotocol/codex-acp",
    "dist/index.js",
    "sha512-/PBsd0H6URy4bhXhAeXqwb7RqctbXfNceRihAh6nDmn5HJ873uzoH"
    "vHxF45YmeWfgOKKRrNRLZjYsket2a7EsQ==",
    node=False,
)
_COPILOT = Package(
    version="1.0.102",
    names={
        "linux-x64": "@github/copilot-linux-x64",
        "linux-arm64": "@github/copilot-linux-arm64",
    },
    integrity={
        "linux-x64": "sha512-eGHPbsP0p2QgfVZCjtbGBFZPBOJQ0DN7xIbBRAo7oG8b1zfLirQId"
        "fI4h8Iy68Dv2cKJGJZg2/EO7W7KpIMJOw==",
        "linux-arm64": "sha512-5rO0B2/AduCekrE+aUzipySKZxZY2b/tVRZ8Suy8ymPFNC0Q7HQiQ"
        "8DZhxj+3RhHR8rU2Z8KOJVAbtMlROX6+A==",
    },
    executable="copilot",
)
_GOOSE = Package(
    version="0.20.1",
    names={"linux-x64": "@aaif/goose-binary-linux-x64"},
    integrity={
        "linux-x64": "sha512-XYf4tu5Z1zkMNPm/ROwEuBD+21urw4trIlpBHJnbqNdMLiAyQQ2G5"
        "xplt71jdGm5q0VxhZT7VRvi9DPDTN+enQ==",
    },
    executable="bin/goose",
    # The program of 0.20.1 says 1.34.0.
    tells_version=False,
)
_CLINE = Package(
    version="3.0.65",
    names={"linux-x64": "@cline/cli-linux-x64"},
    integrity={
        "linux-x64": "sha512-YRDt0eNj/XEMB7DeMeOeE92jQFf7DyKGCysStxrk+mIKdO0GVPugD"
        "G4yxsmKtBouBnaRVteW3NwYEnSq2kah8A==",
    },
    executable="bin/cline",
)

_CODEX_MODES = (
    ModeInfo(id="workspace-write", name="Workspace", description="Asks before it goes beyond it."),
    ModeInfo(id="read-only", name="Read-only", description="Asks before it changes anything."),
    ModeInfo(id="agent", name="Auto review", description="A model decides what needs no asking."),
    ModeInfo(id="agent-full-access", name="Full access", description="Asks for nothing."),
)
"""Left alone it begins with `agent`, in which it asks its model, and not people (2.6.0)."""
_GOOSE_MODES = (
    ModeInfo(id="approve", name="Approve", description="Asks before every tool call."),
    ModeInfo(id="smart_approve", name="Smart approve", description="Asks for what may do harm."),
    ModeInfo(id="auto", name="Auto", description="Asks for nothing."),
    ModeInfo(id="chat", name="Chat", description="Talks, and calls no tools."),
)
"""Left alone it begins with `auto`."""
_FORK: frozenset[Feature] = frozenset(("fork",))
_OPENCODE_ASKS = (
    '{"*":"ask","read":{"*":"allow","*.env":"ask","*.env.*":"ask"},"list":"allow","glob":"allow",'
    '"grep":"allow","todowrite":"allow","todoread":"allow","skill":"allow","lsp":"allow",'
    '"task":"allow"}'
)

KNOWN_AGENTS: tuple[KnownAgent, ...] = (
    KnownAgent(
        id="claude-acp",
        name="Claude Agent (ACP)",
        command=("claude-agent-acp",),
        package=_CLAUDE,
        verified="0.99.1",
        credentials=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    ),
    KnownAgent(
        id="cline",
        name="Cline",
        command=("cline", "--acp"),
        package=_CLINE,
        # Without it, it starts no session until somebody signs in on its own page (3.0.65).
        credentials=("CLINE_API_KEY",),
    ),
    KnownAgent(
        id="codex-acp",
        name="Codex (ACP)",
        command=("codex-acp",),
        package=_CODEX,
        verified="2.6.0",
        credentials=("OPENAI_API_KEY", "CODEX_API_KEY"),
        auth_method="api-key",
        modes=_CODEX_MODES,
    ),
    KnownAgent(
        id="copilot",
        name="GitHub Copilot",
        command=("copilot", "--acp"),
        package=_COPILOT,
        verified="1.0.102",
        credentials=(
            "COPILOT_GITHUB_TOKEN",
            "GH_TOKEN",
            "GITHUB_TOKEN",
            "COPILOT_PROVIDER_API_KEY",
        ),
    ),
    KnownAgent(
        id="gemini",
        name="Gemini CLI",
        command=("gemini", "--acp"),
        package=_GEMINI,
        credentials=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    KnownAgent(
        id="goose",
        name="Goose",
        command=("goose", "acp"),
        modes=_GOOSE_MODES,
        package=_GOOSE,
        verified="0.20.1",
    ),
    KnownAgent(
        id="kimi",
        name="Kimi Code",
        command=("kimi", "acp"),
        package=_KIMI,
        verified="2.1.0",
        credentials=("KIMI_API_KEY", "KIMI_MODEL_API_KEY"),
    ),
    KnownAgent(
        id="opencode-acp",
        name="OpenCode (ACP)",
        command=("opencode", "acp"),
        # It asks only for what its configuration names, and that is nothing at first.
        env={"OPENCODE_PERMISSION": _OPENCODE_ASKS},
        package_of="opencode",
        verified="1.18.33",
        # Its tool for questions is not offered over ACP.
        features=FEATURES - {"questions"} | _FORK,
    ),
    KnownAgent(
        id="qwen",
        name="Qwen Code",
        command=("qwen", "--acp"),
        package=_QWEN,
        credentials=("OPENAI_API_KEY",),
        verified="0.24.4",
        modes=qwen.MODES,
        # It tells of an image that it has read, and does not show it.
        features=FEATURES - {"images"},
        extension=lambda spec: qwen.QwenExtension(),
        ignored=qwen.IGNORED,
        probe_recipes=qwen.PROBE_RECIPES,
    ),
)
"""By id."""
