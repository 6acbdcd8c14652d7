"""Texts with rules: names of variables, words of a command line, ids of agents."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

# A `$` alone would let a newline pass.
EnvName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$(?!\n)",
        description="it must have letters, digits and _ only, and not begin with a digit",
    ),
]
"""The description of a pattern is what people are told in its place."""
NoNul = Annotated[str, Meta(pattern=r"^[^\x00]*$", description="it must hold no NUL")]
# It may become a word of a command line, and must not be taken for an option.
Word = Annotated[
    str,
    Meta(
        pattern=r"^(?!-)[^\x00-\x1f\x7f]*$(?!\n)",
        description="it must not begin with -, and hold no control characters",
    ),
]
AGENT_ID_PATTERN = r"^(?=.{1,32}$)[a-z][a-z0-9]*(-[a-z0-9]+)*$(?!\n)"
AGENT_ID_RULE = (
    "it must have 1 to 32 lower case letters and digits, with - between them, and begin with a "
    "letter"
)
AgentId = Annotated[str, Meta(pattern=AGENT_ID_PATTERN, description=AGENT_ID_RULE)]
"""It names a variable and a folder."""
Label = Annotated[
    str,
    Meta(
        pattern=r"^(?=.{1,80}$)[^\x00-\x1f\x7f]+$(?!\n)",
        description="it must have 1 to 80 characters, and no control characters",
    ),
]
"""What people read in a list."""
