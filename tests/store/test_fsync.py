"""What is being made on a disk: nothing of it stays, and nobody else's work is touched."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

from dragoman.store.fsync import PARTIAL, is_full, tidy, workshop

MAKE = """
import sys
from pathlib import Path
from dragoman.store.fsync import workshop
with workshop(Path(sys.argv[1])) as folder:
    (folder / "half").write_text("made")
    sys.stdout.write("busy\\n")
    sys.stdout.flush()
    sys.stdin.read()
"""


def test_a_workshop_is_private_and_leaves_nothing(tmp_path: Path) -> None:
    with workshop(tmp_path) as folder:
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "half").write_text("made")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_one_left_is_removed_and_what_a_living_one_makes_is_not(
    tmp_path: Path,
) -> None:
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", MAKE, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
    ) as maker:  # fmt: skip
        assert maker.stdout is not None
        assert maker.stdout.readline() == "busy\n"
        tidy(tmp_path)
        (folder,) = tmp_path.iterdir()
        assert (folder / "half").read_text() == "made"
        maker.send_signal(signal.SIGKILL)
        maker.wait()
    tidy(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_only_has_the_name_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "lock").write_text("precious")
    (tmp_path / f"{PARTIAL}link").symlink_to(tmp_path / "mine")
    (tmp_path / f"{PARTIAL}file").write_text("precious")
    tidy(tmp_path)
    assert (tmp_path / "mine" / "lock").read_text() == "precious"
    assert (tmp_path / f"{PARTIAL}file").read_text() == "precious"


def test_a_full_disk_is_told_from_others(tmp_path: Path) -> None:
    assert is_full(OSError(errno.ENOSPC, "no space"), tmp_path)
    assert not is_full(OSError(errno.EIO, "broken"), tmp_path)
    assert not is_full(ValueError(), tmp_path)
