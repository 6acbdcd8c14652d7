"""A recording that is fit to commit tells nothing of the machine it was made on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.testing.recordings.scrub import MAX_PROSE, Machine, machine_of, scrub
from dragoman.testing.recordings.transcript import Dir, Line, Meta, Run

ENVIRON = {
    "HOME": "/home/somebody",
    "TMPDIR": "/scratch/tmp",
    "AGENT_CONFIG_DIR": "/etc/agent",
    "AGENT_API_KEY": "abcdef123456",
    "SHELL": "/bin/bash",
}
MACHINE = machine_of(ENVIRON, "laptop-17.local")
META = Meta(agent="a", argv=("/home/somebody/bin/agent", "--dir=/home/somebody/work"),
            cwd="/home/somebody/work")  # fmt: skip


def run_of(*lines: Any, dir: Dir = "out") -> Run:
    encoded = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    return Run(meta=META, entries=tuple(Line(t=0, dir=dir, data=data) for data in encoded))


def scrubbed(*lines: Any, dir: Dir = "out", machine: Machine = MACHINE, prose: Any = ()) -> Any:
    (run,) = scrub((run_of(*lines, dir=dir),), machine, prose)
    return [json.loads(line.data) for line in run.lines(dir)]


def test_the_process_itself_is_scrubbed() -> None:
    (run,) = scrub((run_of(),), MACHINE)
    assert run.meta.cwd == "/workspace"
    assert run.meta.argv == ("/usr/local/bin/agent", "--dir=/workspace")


@pytest.mark.parametrize(
    ("script", "mentioned", "stable"),
    [
        ("/srv/me/pi/cli.js", "/srv/me/pi/lib/x.js", "/usr/local/bin/lib/x.js"),
        ("/srv/me/node_modules/@a/pi/dist/cli.js", "/srv/me/node_modules/jiti/a.js",
         "/usr/local/bin/node_modules/jiti/a.js"),
        ("/tmp/cli.js", "/tmp/cli.js and /tmp/x", "/usr/local/bin/cli.js and /tmp/x"),
    ],
)  # fmt: skip
def test_a_script_behind_an_interpreter_is_scrubbed_with_its_folder(
    script: str, mentioned: str, stable: str
) -> None:
    """Before, only the interpreter's own path went."""
    meta = Meta(argv=("/opt/node/bin/node", "--no-warnings", script, "--mode"), cwd="/srv/me/work")
    line = Line(t=0, dir="out", data=json.dumps({"text": f"{mentioned}, /srv/me/work/y"}).encode())
    (run,) = once = scrub((Run(meta=meta, entries=(line,)),), MACHINE)
    assert run.meta.argv[0] == "/usr/local/bin/node"
    assert run.meta.argv[2].startswith("/usr/local/bin/")
    (said,) = run.lines("out")
    assert json.loads(said.data)["text"] == f"{stable}, /workspace/y"
    assert scrub(once, MACHINE) == once


def test_where_sessions_of_a_shared_process_work_is_scrubbed() -> None:
    lines = [
        Line(t=0, dir="in", data=json.dumps({"id": 1, "params": {"cwd": folder}}).encode())
        for folder in ("/srv/one", "/srv/two", "/srv/one")
    ]
    said = Line(t=0, dir="out", data=b'{"text":"/srv/one/a or /srv/two or / or "}')
    run = Run(meta=Meta(argv=("agent",), cwd="/"), entries=(*lines, said))
    (clean,) = once = scrub((run,), MACHINE)
    assert [b"/srv" in line.data for line in clean.lines("in")] == [False] * 3
    (text,) = clean.lines("out")
    assert json.loads(text.data)["text"] == "/workspace/a or /workspace-2 or / or "
    assert clean.meta.cwd == "/"
    assert scrub(once, MACHINE) == once


@pytest.mark.parametrize("dir", ["in", "out"])
@pytest.mark.parametrize(
    ("text", "stable"),
    [
        ("/home/somebody/work/a.txt", "/workspace/a.txt"),
        ("wrote /home/somebody/work.", "wrote /workspace."),
        ("/home/somebody/.agent", "/home/user/.agent"),
        ("/home/somebodyelse/x", "/home/somebodyelse/x"),
        ("/home/somebody/work2/x", "/home/user/work2/x"),
        ("/etc/agent/x", "/home/user/.agent_config_dir/x"),
        ("/scratch/tmp/x", "/tmp/x"),
        ("projects/-home-somebody-work/1.json", "projects/-workspace/1.json"),
        ("key abcdef123456!", "key <secret>!"),
        ("sk-0123456789abcdef", "<secret>"),
        ("a task-notification", "a task-notification"),
        ("Authorization: Bearer abc.def.ghi", "Authorization: Bearer <secret>"),
        ("from me.and.you@some.example.org now", "from user@example.com now"),
        ("package@1.2.3", "package@1.2.3"),
        ("http://laptop-17.local:80/", "http://host:80/"),
        ("/tmp/socks/12345.sock", "/tmp/socks/1.sock"),
        ("/bin/bash", "/bin/bash"),
    ],
)
def test_a_text_tells_nothing_of_the_machine(dir: Dir, text: str, stable: str) -> None:
    assert scrubbed({"a": [text]}, dir=dir) == [{"a": [stable]}]
    (run,) = scrub((run_of(f"log: {text}".encode(), dir=dir),), MACHINE)
    assert run.lines(dir)[0].data == f"log: {stable}".encode()


def test_names_pids_and_secret_fields_are_scrubbed() -> None:
    assert scrubbed({"/home/somebody/work/a": 1, "pid": 4711, "parent_pid": 3, "apiKey": "x" * 9}) \
        == [{"/workspace/a": 1, "pid": 1, "parent_pid": 1, "apiKey": "<secret>"}]  # fmt: skip


def test_a_path_that_is_streamed_in_pieces_is_scrubbed() -> None:
    pieces = ["In /home/some", "body/", "work", "/a.txt and /home/", "somebodyelse"]
    lines = [{"type": "delta", "text": piece, "n": n} for n, piece in enumerate(pieces)]
    texts = [line["text"] for line in scrubbed(*lines)]
    assert "".join(texts) == "In /workspace/a.txt and /home/somebodyelse"
    assert len(texts) == len(pieces)


def test_long_prose_of_a_vendor_is_cut_to_its_length() -> None:
    prose = "Do this. " * 20
    told = {"commands": [{"name": "x", "description": prose}], "short": {"description": "Short."}}
    assert scrubbed(told) == [
        {"commands": [{"name": "x", "description": "<180 characters>"}],
         "short": {"description": "Short."}}
    ]  # fmt: skip
    assert scrubbed(told, dir="in") == [told]
    of_people = {"message": {"content": [{"input": {"description": prose}}]}}
    assert scrubbed(of_people) == [of_people]


def test_further_prose_is_named_by_its_path() -> None:
    told = {"tools": [{"help": "x" * 200}], "help": "y" * 200}
    (found,) = scrubbed(told, prose=["tools.*.help"])
    assert found == {"tools": [{"help": "<200 characters>"}], "help": "y" * 200}


def test_a_line_without_anything_keeps_its_bytes() -> None:
    data = b'{ "a" : 1.0,"b":"\\u00e9" }'
    (run,) = scrub((run_of(data, b"\xff\xfe"),), MACHINE)
    assert [line.data for line in run.lines("out")] == [data, b"\xff\xfe"]


def test_the_data_of_an_event_stream_is_scrubbed_as_json() -> None:
    (run,) = scrub((run_of(b'data: {"description":"%b"}' % (b"x" * (MAX_PROSE + 1))),), MACHINE)
    assert run.lines("out")[0].data == b'data: {"description":"<121 characters>"}'


words = st.sampled_from(
    ["/home/somebody", "/work", "/home/some", "body", "-home-somebody-work", "abcdef123456", " ",
     "sk-", "0123456789", "Bearer ", "a@b.co", "/", "laptop-17.local", "x", "é", "/12.sock", "."]
)  # fmt: skip
texts = st.lists(words, max_size=8).map("".join)
values = st.recursive(
    texts | st.integers(0, 10**6) | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "pid", "description", "token"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=300)
@given(st.lists(values.map(lambda value: json.dumps(value).encode()) | texts.map(str.encode)))
def test_to_scrub_twice_is_to_scrub_once(lines: list[bytes]) -> None:
    once = scrub((run_of(*lines),), MACHINE)
    assert scrub(once, MACHINE) == once
    for line in once[0].lines("out"):
        assert b"abcdef123456" not in line.data
