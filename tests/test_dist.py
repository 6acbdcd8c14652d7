"""The wheel: what a user gets who has neither Node nor this checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_wheel_holds_the_page_and_nothing_that_built_it(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    [wheel] = tmp_path.iterdir()
    names = zipfile.ZipFile(wheel).namelist()
    page = [name.removeprefix("dragoman/http/page/") for name in names if "/page/" in name]
    assert "index.html" in page, "make web builds it"
    assert {name.rpartition(".")[2] for name in page} >= {"html", "js", "css", "svg", "gz"}
    sources = [name for name in names if name.endswith((".ts", ".tsx")) or "node_modules" in name]
    assert sources == ["dragoman/agents/pi/extension.ts"], "Pi itself loads this one"
