"""Pi's own tools: commands, files, images, and calls that fail."""

from __future__ import annotations

from pathlib import Path

from tests.agents.live import Bench, Live, calls
from tests.agents.pi.live.scripts import bash, tool
from tests.agents.results import file_of, output, results, streamed
from tests.agents.scenarios.test_attachments import png
from tests.agents.watch import heard, says
from tests.testing.story import items, of_type, outcome, parts, said


def session(pi: Bench, *blocks: dict[str, object]) -> Live:
    """A session whose model makes these calls, one after another."""
    return pi.session(*(calls(each) for each in blocks), "Done.", permissionMode="bypass")


def test_output_streams_as_it_is_printed(pi: Bench) -> None:
    wait = "while not __import__('os').path.exists('go'): pass"
    live = session(pi, bash(f'echo one; python3 -c "{wait}"; echo two'))
    live.send("Go")
    heard(live, says("one"))
    (live.workspace / "go").touch()
    live.until("turn.ended")
    events = live.conforms()
    (result,) = results(events)
    assert (output(result), result["exit_code"]) == ("one\ntwo\n", 0)
    assert streamed(events, result, "output") == "one\ntwo\n"
    assert result["native_item_id"] == items(events, "tool_call")[0]["native_item_id"]


def test_a_command_that_fails_has_its_exit_code(pi: Bench) -> None:
    live = session(pi, bash("echo oops >&2; exit 3"))
    (result,) = results(live.turn("Go"))
    assert (result["status"], result["exit_code"], output(result)) == ("failed", 3, "oops\n")
    live.conforms()


def test_a_long_output_is_cut_and_kept(pi: Bench) -> None:
    live = session(pi, bash("seq 1 20000"))
    events = live.turn("Go")
    (result,) = results(events)
    assert result["truncated"] is True
    assert output(result).rstrip().endswith("20000") or "20000" in output(result)
    live.conforms()


def test_a_tool_that_does_not_exist_fails(pi: Bench) -> None:
    live = session(pi, tool("nosuch", a=1))
    events = live.turn("Go")
    (result,) = results(events)
    assert (result["status"], output(result)) == ("failed", "Tool nosuch not found")
    assert (said(events), outcome(events)) == (["Done."], "completed")
    live.conforms()


def test_a_new_file_is_written_with_its_diff(pi: Bench) -> None:
    live = session(pi, tool("write", path="a.txt", content="one\ntwo\n"))
    (result,) = results(live.turn("Go"))
    file = file_of(result)
    assert (file["path"], file["action"]) == (str(live.workspace / "a.txt"), "write")
    assert "+one\n+two\n" in file["diff"]
    assert (live.workspace / "a.txt").read_text() == "one\ntwo\n"
    live.conforms()


def test_a_file_is_written_over_with_the_diff_to_what_was_there(pi: Bench) -> None:
    live = pi.session(
        calls(tool("write", path="a.txt", content="one\nTWO\n")),
        calls(
            tool("write", path="a.txt", content="1\nTWO\n"),
            tool("write", path="a.txt", content="1\n2\n"),
        ),
        "Done.",
        permissionMode="bypass",
    )
    (live.workspace / "a.txt").write_text("one\ntwo\n")
    changes = [file_of(result)["diff"].partition("@@ ")[2] for result in results(live.turn("Go"))]
    assert changes == [
        "-1,2 +1,2 @@\n one\n-two\n+TWO\n",
        "-1,2 +1,2 @@\n-one\n+1\n TWO\n",
        "-1,2 +1,2 @@\n 1\n-TWO\n+2\n",
    ]
    live.conforms()


def test_a_file_that_is_no_text_is_written_over_without_a_diff(pi: Bench) -> None:
    live = session(pi, tool("write", path="a.bin", content="one\n"))
    (live.workspace / "a.bin").write_bytes(b"\x00\xff")
    (result,) = results(live.turn("Go"))
    assert file_of(result).get("diff") is None
    assert (live.workspace / "a.bin").read_text() == "one\n"
    live.conforms()


def test_an_edit_has_its_diff(pi: Bench) -> None:
    live = session(pi, tool("edit", path="a.txt", edits=[{"oldText": "two", "newText": "TWO"}]))
    (live.workspace / "a.txt").write_text("one\ntwo\n")
    (result,) = results(live.turn("Go"))
    file = file_of(result)
    assert (file["path"], file["action"]) == (str(live.workspace / "a.txt"), "patch")
    name = str(live.workspace / "a.txt").lstrip("/")
    assert f"--- a/{name}\n+++ b/{name}\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n" in file["diff"]
    live.conforms()


def test_an_edit_that_fits_nowhere_fails(pi: Bench) -> None:
    live = session(pi, tool("edit", path="a.txt", edits=[{"oldText": "six", "newText": "SIX"}]))
    (live.workspace / "a.txt").write_text("one\ntwo\n")
    (result,) = results(live.turn("Go"))
    assert result["status"] == "failed"
    assert parts(result, "file_ref") == []
    live.conforms()


def test_a_file_is_read(pi: Bench) -> None:
    live = session(pi, tool("read", path="a.txt"))
    (live.workspace / "a.txt").write_text("xylograph\n")
    (result,) = results(live.turn("Go"))
    assert "xylograph" in output(result)
    assert file_of(result)["action"] == "read"
    live.conforms()


def test_an_image_that_is_read_is_stored(pi: Bench) -> None:
    live = session(pi, tool("read", path="a.png"))
    (live.workspace / "a.png").write_bytes(png())
    (result,) = results(live.turn("Go"))
    (image,) = parts(result, "image")
    assert image["mime"] == "image/png"
    assert Path(image["path"]).is_file()
    live.conforms()


def test_tools_side_by_side_keep_their_own_output(pi: Bench) -> None:
    live = pi.session(
        calls(bash("echo one"), tool("read", path="a.txt"), bash("exit 4")), "Done.",
        permissionMode="bypass",
    )  # fmt: skip
    (live.workspace / "a.txt").write_text("two\n")
    events = live.turn("Go")
    assert [output(each).strip() for each in results(events)] == ["one", "two", ""]
    assert [each.get("exit_code") for each in results(events)] == [0, None, 4]
    live.conforms()


def test_a_tool_without_input_has_empty_arguments(pi: Bench) -> None:
    live = session(pi, tool("nosuch"))
    (call,) = items(live.turn("Go"), "tool_call")
    assert parts(call, "tool_call")[0]["arguments"] == "{}"
    assert not of_type(live.conforms(), "error")
