"""Amp's own tools: commands, files and their diffs, calls that fail; and tools of MCP servers."""

from __future__ import annotations

import sys
from pathlib import Path

from dragoman.testing.conform import mcp_server
from tests.agents.amp.live.agent import tool
from tests.agents.live import Bench, calls
from tests.agents.results import file_of, output, results
from tests.agents.scenarios.test_attachments import png
from tests.testing.story import items, outcome, parts, said

PATCH = """*** Begin Patch
*** Update File: {0}/b.txt
@@
 one
-two
+TWO
*** Add File: {0}/c.txt
+new
*** End Patch
"""


def test_commands_have_their_output_and_exit_code(amp: Bench) -> None:
    live = amp.session()
    live.model.add(
        calls(
            tool("shell_command", command="echo out; echo oops >&2; exit 3"),
            tool("shell_command", command="pwd", workdir=str(live.home)),
            tool("nosuch", a=1),
            tool("shell_command", command="sleep 60", timeout_ms=100),
            text="Look.",
        ),
        "Done.",
    )
    events = live.turn("Go")
    failed, there, unknown, stopped = results(events)
    assert (failed["status"], failed["exit_code"]) == ("failed", 3)
    assert sorted(output(failed).split()) == ["oops", "out"]
    assert (there["status"], there["exit_code"], there["cwd"]) == ("completed", 0, str(live.home))
    assert (output(there).strip(), there["command"]) == (str(live.home), "pwd")
    assert (unknown["status"], output(unknown)) == ("failed", 'tool "nosuch" not found')
    assert (stopped["status"], stopped["reason"]) == ("failed", "stop-timeout")
    assert "exit_code" not in stopped
    assert (said(events), outcome(events)) == (["Look.", "Done."], "completed")
    live.conforms()


def test_files_are_read_and_changed_with_their_diffs(amp: Bench) -> None:
    live = amp.session()
    folder = live.workspace
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text("one\ntwo\n")
    live.model.add(
        calls(tool("Read", path=str(folder / "a.txt"))),
        calls(tool("edit_file", path=str(folder / "a.txt"), old_str="two", new_str="TWO")),
        calls(tool("apply_patch", patchText=PATCH.format(folder))),
        calls(tool("edit_file", path=str(folder / "none.txt"), old_str="a", new_str="b")),
        "Done.",
    )
    read, edited, patched, failed = results(live.turn("Go"))
    assert file_of(read) == {
        "type": "file_ref", "path": str(folder / "a.txt"), "action": "read", "diff": None
    }  # fmt: skip
    assert output(read) == "1: one\n2: two"
    assert file_of(edited)["action"] == "patch"
    assert file_of(edited)["diff"].endswith("@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n")
    changes = [(Path(each["path"]).name, each["action"], each["diff"].partition("@@")[2])
               for each in parts(patched, "file_ref")]  # fmt: skip
    assert changes == [
        ("b.txt", "patch", " -1,2 +1,2 @@\n one\n-two\n+TWO\n"),
        ("c.txt", "write", " -0,0 +1,1 @@\n+new\n"),
    ]
    assert (failed["status"], parts(failed, "file_ref")) == ("failed", [])
    live.conforms()


def test_a_file_is_written_over_with_its_diff_or_without(amp: Bench) -> None:
    """Amp tells nothing of what was there: the daemon looks, unless Amp was faster."""
    live = amp.session()
    path = live.workspace / "a.txt"
    path.write_text("one\ntwo\n")
    new = live.workspace / "new.txt"
    live.model.add(
        calls(
            tool("create_file", path=str(path), content="one\nTWO\n"),
            tool("create_file", path=str(new), content="new\n"),
        ),
        "Done.",
    )
    over, made = (file_of(each) for each in results(live.turn("Go")))
    assert (over["path"], over["action"]) == (str(path), "write")
    assert over["diff"] is None or over["diff"].endswith("@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n")
    assert made["diff"] is None or "new file mode" in made["diff"]
    assert (path.read_text(), new.read_text()) == ("one\nTWO\n", "new\n")
    live.conforms()


def test_an_image_that_is_read_is_stored(amp: Bench) -> None:
    live = amp.session()
    (live.workspace / "a.png").write_bytes(png())
    live.model.add(calls(tool("Read", path=str(live.workspace / "a.png"))), "Red.")
    (result,) = results(live.turn("Look"))
    assert file_of(result)["path"] == str(live.workspace / "a.png")
    (image,) = parts(result, "image")
    assert (Path(image["path"]).read_bytes(), image["mime"]) == (png(), "image/png")
    assert output(result) == ""
    live.conforms()


def test_a_tool_of_an_mcp_server_is_called_and_its_secret_is_nowhere(amp: Bench) -> None:
    server = {"type": "stdio", "command": [sys.executable, mcp_server.__file__]}
    env = {"env": {"TINY_SECRET": "correct-horse-battery"}}
    look = "tr '\\0' ' ' < /proc/$PPID/cmdline"
    live = amp.session(
        calls(tool("mcp__tiny__shout", text="hello"), tool("shell_command", command=look)),
        "Done.",
        mcp={"tiny": {**server, **env}},
    )
    events = live.turn("Shout")
    assert items(events, "tool_call")[0]["server"] == "tiny"
    shouted, seen = results(events)
    assert (shouted["status"], output(shouted)) == ("completed", "HELLO")
    assert "--mcp-config" in output(seen)
    assert "correct-horse" not in output(seen)
    live.conforms()
