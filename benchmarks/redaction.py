"""What it costs to look for secrets in deltas in which there are none, as nearly always."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Sequence

from benchmarks.agent import say
from benchmarks.bench import Bench
from benchmarks.table import Row
from dragoman.adapter import Spec
from dragoman.agents import adapters
from dragoman.core.fold import SessionState
from dragoman.core.interpreter import Interpreter
from dragoman.core.redaction import Redaction
from dragoman.schema.events import Draft
from dragoman.store.ids import new_id
from dragoman.wire.redactor import Redactor

SECRETS = 15
LINE_BYTES = 280
BATCH = 200
"""About what is read from a busy agent at once."""
GOAL_US = 1.0
WORDS = (
    "the quick agent reads a file and writes the answer to you while other people wait for it "
    "because of SQLite JSON HTTP or a Key in `settings.py` that was not there at 12:30 on day 7"
)


def redaction(bench: Bench) -> list[Row]:
    """The look at a batch, and at one delta alone, beside the way that made them."""
    count = bench.size(50_000, 1_000)
    lines = _lines(count)
    began = time.process_time()
    drafts = _drafts(lines)
    made_us = (time.process_time() - began) / count * 1e6
    redactor = Redactor((f"NAME_{number}", _value(number)) for number in range(SECRETS))
    batch_us, alone_us = (_cost_us(redactor, drafts, size) for size in (BATCH, 1))
    return [
        Row(
            workload=f"redaction of {LINE_BYTES} B deltas, {SECRETS} secrets, none there",
            ours=f"{batch_us:.2f} µs each, {alone_us:.1f} µs one alone",
            limit=f"converter and normalizer: {made_us:.2f} µs",
            ratio=batch_us / made_us,
            goal=f"≤ {GOAL_US:g} µs each",
            reached=batch_us <= GOAL_US,
        )
    ]


def _value(number: int) -> str:
    """A value as they are: keys, digests, phrases, addresses."""
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    pairs = zip(digest, digest[::-1], strict=True)
    mixed = "".join(letter.upper() if other > "7" else letter for letter, other in pairs)
    kinds = (f"sk-ant-api03-{mixed}", mixed[:40], digest[:32], f"https://{digest[:8]}.example.com")
    return kinds[number % len(kinds)]


def _lines(count: int) -> list[bytes]:
    chance = random.Random(1)
    empty = len(say(type="delta", key="m1", text=""))
    lines: list[bytes] = []
    for _ in range(count):
        text = " ".join(chance.choices(WORDS.split(), k=80))[: LINE_BYTES - empty]
        lines.append(say(type="delta", key="m1", text=text).strip())
    return lines


def _drafts(lines: Sequence[bytes]) -> list[Draft]:
    adapter = adapters()["mock"]
    spec = Spec(session_id="s", agent="mock", agent_mode="build", directory="/")
    state = SessionState(agent_mode="build")
    interpreter = Interpreter("mock", adapter.converter(spec), state, new_id)
    interpreter.receive(say(type="start_item", key="m1", kind="message"))
    for line in lines:
        interpreter.receive(line)
    return [output for output in interpreter.take() if isinstance(output, Draft)]


def _cost_us(redactor: Redactor, drafts: Sequence[Draft], size: int) -> float:
    """The best of three; processor time, since a neighbour's work is not ours."""
    costs = []
    for _ in range(3):
        redaction, passed = Redaction(redactor), 0
        began = time.process_time()
        for start in range(0, len(drafts), size):
            passed += len(redaction.take(drafts[start : start + size], hold=True))
        costs.append((time.process_time() - began) / len(drafts) * 1e6)
        if passed + len(redaction.pending) != len(drafts):
            raise RuntimeError(f"{passed} of {len(drafts)} drafts passed")
    return min(costs)
