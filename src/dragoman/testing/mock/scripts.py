"""The mock agent's everyday prompts: everything that an agent may say."""

from __future__ import annotations

import os

from dragoman.testing.mock.lines import (
    Ask,
    Message,
    Script,
    call,
    complete,
    file,
    fresh,
    image,
    item,
    label,
    result,
    say,
    start,
    think,
)

NEW_FILE = """\
diff --git a/greeting.py b/greeting.py
new file mode 100644
--- /dev/null
+++ b/greeting.py
@@ -0,0 +1,2 @@
+def greet() -> str:
+    return "Hello"
"""

CODE = 'def greet() -> str:\n    return "Hello"\n'
CHANGED_CODE = CODE.replace("Hello", "Hello, world")

PATCH = """\
diff --git a/greeting.py b/greeting.py
--- a/greeting.py
+++ b/greeting.py
@@ -1,2 +1,2 @@
 def greet() -> str:
-    return "Hello"
+    return "Hello, world"
"""

MARKDOWN = """\
# A heading

Some *emphasis*, some **strong words**, `code`, and a [link](https://example.com).

1. first
2. second
   - nested

> A quotation.

| term | meaning |
|------|---------|
| dragoman | interpreter |

```python
print("Hello, world")
```
"""


def demo() -> Script:
    """Goes through everything that needs no answer."""
    yield from say("This is what an agent may do.")
    yield from reasoning()
    yield from tools()
    yield from status()
    yield from markdown()
    yield from picture()
    yield from usage()
    return None


def markdown() -> Script:
    """Says something with Markdown in it."""
    yield from say(MARKDOWN)
    return None


def reasoning() -> Script:
    """Thinks, in public and in private, before it answers."""
    yield from think("The person would like to see a thought. This is one that users see.")
    yield from think("This is a raw thought, which users do not see.", visibility="private")
    yield from say("I have thought about it.")
    return None


def tools() -> Script:
    """Calls tools of several kinds, one of which fails."""
    message = fresh("m")
    yield from say("I will use some tools.", id=message)
    yield from _files(message)
    yield from _commands(message)
    tool = fresh("t")
    yield from call(tool, "search", {"query": "dragoman"}, message=message, server="docs")
    yield from result(tool, '{"hits": ["An interpreter and guide."]}', message=message)
    yield from say("The tools are done. One of them failed.")
    return None


def _files(message: str) -> Script:
    path = os.path.join(os.getcwd(), "greeting.py")
    read, write, patch = fresh("t"), fresh("t"), fresh("t")
    readme = os.path.join(os.getcwd(), "README.md")
    yield from call(read, "read", {"path": readme}, message=message, title="Read README.md")
    yield from result(read, "# A project\n", file(readme, "read"), message=message)
    yield from call(write, "write", {"path": path, "content": CODE}, message=message)
    wrote = file(path, "write", NEW_FILE)
    yield from result(write, "Wrote 2 lines.", wrote, message=message)
    change: Message = {"path": path, "old": '"Hello"', "new": '"Hello, world"'}
    yield from call(patch, "edit", change, message=message)
    yield from result(patch, "Changed 1 line.", file(path, "patch", PATCH), message=message)
    return None


def _commands(message: str) -> Script:
    for command, output, exit_code in (
        ("make test", "collecting\n3 passed\n", 0),
        ("make lint", "greeting.py:1: missing docstring\n", 1),
    ):
        tool = fresh("t")
        about = {"title": f"Run {command}", "command": command, "cwd": os.getcwd()}
        yield from call(tool, "bash", {"command": command}, message=message, **about)
        ended: Message = {"exit_code": exit_code, "failed": exit_code != 0, "duration_ms": 40}
        yield from result(tool, output, message=message, **ended)
    return None


def status() -> Script:
    """Says what goes on, quotes a hook, and shows a plan."""
    yield from item("status", label("compacting", "Making room in the context."))
    hook = {"type": "text", "text": "A hook reminds you of the style guide."}
    yield from item("system", hook)
    steps = [
        {"step": "Read the code", "status": "completed"},
        {"step": "Change it", "status": "in_progress"},
        {"step": "Run the tests", "status": "pending"},
    ]
    yield from item("status", label("plan"), {"type": "json", "json": {"steps": steps}})
    yield from say("That was my status.")
    return None


def picture() -> Script:
    """Shows an image in a message, and one in a tool result."""
    message, tool = fresh("m"), fresh("t")
    yield from say("Here is an image.", image(), id=message)
    yield from call(tool, "screenshot", {"window": "main"}, message=message)
    yield from result(tool, "Took a screenshot.", image(), message=message)
    return None


def unknown() -> Script:
    """Sends a kind of item that nobody knows."""
    hologram = {"kind": "hologram", "depth": 3, "colours": ["green"]}
    yield from item("unknown", {"type": "json", "json": hologram}, role="assistant")
    yield from say("You have not seen this before.")
    return None


def permission() -> Script:
    """Asks before it runs a command."""
    command = "make clean"
    message, tool = fresh("m"), fresh("t")
    yield from say("I would like to clean the build folder.", id=message)
    about = {"title": "Clean the build folder", "command": command, "cwd": os.getcwd()}
    yield from call(tool, "bash", {"command": command}, message=message, **about)
    metadata = {"command": command, "agent_reason": "It deletes files."}
    answer = yield _permission(tool, "bash", {"command": command}, metadata)
    if answer["decision"] == "deny":
        yield from _declined(tool, message, answer)
        return None
    command = _changed(answer, "command", command)
    output = f"$ {command}\nremoved build\n"
    yield from result(tool, output, message=message, exit_code=0, duration_ms=12)
    yield from say(f"You allowed it, so I ran `{command}`.")
    return None


def edit() -> Script:
    """Asks before it changes a file."""
    path = os.path.join(os.getcwd(), "greeting.py")
    change = {"path": path, "old": '"Hello"', "new": '"Hello, world"'}
    message, tool = fresh("m"), fresh("t")
    yield from say("I would like to change the greeting.", id=message)
    yield from call(tool, "edit", change, message=message, title="Edit greeting.py")
    metadata = {"path": path, "diff": PATCH}
    answer = yield _permission(tool, "edit", change, metadata, edits_files=True)
    if answer["decision"] == "deny":
        yield from _declined(tool, message, answer)
        return None
    path = _changed(answer, "path", path)
    yield from result(tool, "Changed 1 line.", file(path, "patch", PATCH), message=message)
    yield from say(f"You allowed it, so I changed {path}.")
    return None


def real_file() -> Script:
    """Makes greeting.py, changes it the next time, then deletes it: for real."""
    path = os.path.join(os.getcwd(), "greeting.py")
    message, tool = fresh("m"), fresh("t")
    try:
        with open(path, encoding="utf-8", errors="replace") as found:
            text = found.read()
    except FileNotFoundError:
        text = ""
    if text not in ("", CODE, CHANGED_CODE):
        yield from say("There is a greeting.py that is not mine, so I leave it alone.")
        return None
    yield from say("I work on greeting.py.", id=message)
    yield from call(tool, "edit", {"path": path}, message=message, title="Edit greeting.py")
    if text == CHANGED_CODE:
        os.remove(path)
        yield from result(tool, "Deleted it.", file(path, "patch"), message=message)
    else:
        with open(path, "w", encoding="utf-8") as made:
            made.write(CHANGED_CODE if text else CODE)
        done = file(path, "patch", PATCH) if text else file(path, "write", NEW_FILE)
        yield from result(tool, "Wrote it.", done, message=message)
    yield from say("You can see it in your directory.")
    return None


def _permission(
    tool: str, action: str, arguments: Message, metadata: Message, *, edits_files: bool = False
) -> Ask:
    ask = {"type": "ask_permission", "key": fresh("p"), "action": action, "item": tool}
    about = {"input": arguments, "call_id": tool, **metadata}
    return Ask({**ask, "metadata": about, "edits_files": edits_files})


def _declined(tool: str, message: str, answer: Message) -> Script:
    why = answer.get("message") or "The person declined."
    yield from result(tool, why, message=message, failed=True, reason="declined")
    yield from say(f"You declined, so I left it: {why}")
    return None


def _changed(answer: Message, name: str, asked: str) -> str:
    """Give what the person put in the place of what was asked for."""
    updated = answer.get("updated_input")
    return str(updated[name]) if isinstance(updated, dict) and name in updated else asked


COLOUR: Message = {
    "question_id": "colour",
    "header": "Colour",
    "prompt": "Which colour?",
    "options": [{"label": "Red", "description": "Like a rose."}, {"label": "Blue"}],
    "allow_other": True,
}
FRUIT: Message = {
    "question_id": "fruit",
    "header": "Fruit",
    "prompt": "Which fruits?",
    "options": [{"label": "Apple"}, {"label": "Pear"}, {"label": "Plum"}],
    "multi_select": True,
    "allow_other": False,
}
GO_ON: Message = {
    "question_id": "go_on",
    "header": "Go on",
    "prompt": "Go on?",
    "options": [{"label": "Yes"}, {"label": "No"}],
    "allow_other": False,
}


def question() -> Script:
    """Asks a question."""
    yield from say("I have a question.")
    yield from _ask(COLOUR)
    return None


def questions() -> Script:
    """Asks two questions at once, one of which takes several answers."""
    yield from say("I have two questions.")
    yield from _ask(COLOUR, FRUIT)
    return None


def yes_or_no() -> Script:
    """Asks a question with two answers."""
    yield from _ask(GO_ON)
    return None


def run(command: str) -> Script:
    """Pretends to run a command."""
    message, tool = fresh("m"), fresh("t")
    yield from say(f"I run `{command}`.", id=message)
    about = {"title": f"Run {command}", "command": command, "cwd": os.getcwd()}
    yield from call(tool, "bash", {"command": command}, message=message, **about)
    output = "README.md\ngreeting.py\n"
    yield from result(tool, output, message=message, exit_code=0, duration_ms=5)
    yield from say("It is done.")
    return None


def _ask(*questions: Message) -> Script:
    answer = yield Ask({"type": "ask_question", "key": fresh("q"), "questions": questions})
    if answer.get("answers") is None:
        yield from say("You did not answer.")
        return None
    pairs = zip(questions, answer["answers"], strict=False)
    lines = (f"{each['header']}: {', '.join(labels) or 'nothing'}" for each, labels in pairs)
    yield from say("You answered. " + "; ".join(lines))
    return None


def subagent() -> Script:
    """Lets a helper do the work."""
    message, task, helper = fresh("m"), fresh("t"), fresh("a")
    yield from say("I ask a helper.", id=message)
    order = {"description": "Count files", "prompt": "How many files are there?"}
    yield from call(task, "task", order, message=message, title="Count files")
    yield start(helper, "status", label("subagent", "Count files"), role="system", parent=task)
    yield from _help(helper, task)
    yield complete(helper)
    yield from result(task, "There are 2 files.", message=message)
    yield from say("The helper found 2 files.")
    return None


def _help(helper: str, task: str) -> Script:
    message, tool = fresh("m"), fresh("t")
    yield from say("I look around.", id=message, parent=task, subagent=helper)
    about: Message = {"message": message, "subagent": helper}
    yield from call(tool, "bash", {"command": "ls"}, command="ls", cwd=os.getcwd(), **about)
    yield from result(tool, "README.md\ngreeting.py\n", exit_code=0, **about)
    yield from say("There are 2 files.", parent=task, subagent=helper)
    return None


def usage() -> Script:
    """Says how full its context is; every turn ends with its usage."""
    yield {"type": "update", "body": {"context": {"used": 12_000, "window": 200_000}}}
    yield from say("I have used 12,000 of 200,000 tokens.")
    return None


def error() -> Script:
    """Fails."""
    details = {"retryable": False}
    yield {
        "type": "report",
        "code": "mock_error",
        "message": "This went wrong, as you asked.",
        "details": details,
    }
    return "failed"


def unparsed() -> Script:
    """Sends a line that its own dialect does not have."""
    yield {"type": "mystery", "payload": {"answer": 42}}
    yield from say("You could not understand my last line.")
    return None


def end() -> Script:
    """Says goodbye, and ends the session."""
    yield from say("Goodbye.")
    return "goodbye"
