"""Snapshots of a directory: git trees in a repository of our own, and the differences between them.

What is in the person's repository is found there, and nothing is ever written to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import tempfile
import threading
import time
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from dragoman.wire.patch import (
    ChangedFile,
    Patch,
    assemble,
    each_file,
    left_out_line,
    parse_raw,
)
from dragoman.workspace.git import Git, GitError, StartProgram, start_plainly
from dragoman.workspace.repository import Repository, find_repository

MOST_FILES = 20_000
"""So many files that the last snapshot does not hold are taken into the next one."""
MOST_BYTES = 128 << 20
"""And so large they may be together."""
LARGE_BYTES = 4 << 20
"""A file that is larger is only named where it changes."""
TOO_LARGE_S = 60.0
"""So long a directory that holds more is taken to do so still: to find it out takes its time."""
MOST_LOOSE = 4096
"""Where there are more objects of our own than this, those that nobody needs are removed."""
_READ_BYTES = 16 << 20
"""So much of a patch is read at most, however little of it is shown."""
_LISTING = ("-z", "-t", "--modified", "--deleted", "--others", "--exclude-standard")
_PATCH = (
    "-r", "-M", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip


class SnapshotTooLarge(GitError):
    """The directory holds more than a snapshot may."""


class Snapshots:
    """The snapshots of one directory. For threads; one thing is done at a time."""

    def __init__(
        self,
        directory: Path,
        place: Path,
        start: StartProgram = start_plainly,
        closed: Collection[str] = (),
    ) -> None:
        self.directory = directory
        self._closed = closed
        self._place = place
        self._start = start
        self._lock = threading.Lock()
        self._repository: Repository | None = None
        self._git: Git | None = None
        self._tree: str | None = None
        """The last one."""
        self._too_large: tuple[float, str] = (0.0, "")
        """Until when it is taken to hold too much, and why."""

    # --- Trees ---

    def take(self, deadline_s: float) -> str:
        """The directory as it is now: the id of a tree. Raise GitError."""
        until, why = self._too_large
        if time.monotonic() < until:
            raise SnapshotTooLarge(why)
        try:
            return self._take(deadline_s)
        except SnapshotTooLarge as error:
            self._too_large = time.monotonic() + TOO_LARGE_S, str(error)
            raise

    def _take(self, deadline_s: float) -> str:
        with self._lock:
            deadline = time.monotonic() + deadline_s
            if self._is_bare_folder():
                return self._empty_tree()
            git = self._ready(deadline)
            listing = git.run("ls-files", *_LISTING, *self._scope(), deadline=deadline)
            files = list(self._expand(_paths(listing), deadline))
            if files or self._tree is None:
                self._add(git, files, deadline)
                self._tree = git.run("write-tree", deadline=deadline).decode().strip()
            return self._tree

    def head(self, deadline_s: float) -> str | None:
        """The tree of the commit that is checked out; None: there is no repository.

        That of a repository without a commit is empty.
        """
        with self._lock:
            repository = find_repository(self.directory)
            if repository is None:
                return None
            commit = repository.head()
            if commit is None:
                return self._empty_tree()
            deadline = time.monotonic() + deadline_s
            git = self._ready(deadline)
            return git.run("rev-parse", f"{commit}^{{tree}}", deadline=deadline).decode().strip()

    def _is_bare_folder(self) -> bool:
        """Nothing is in it, and no repository is around it: the common case of a new session."""
        if self._git is not None:
            return False
        try:
            with os.scandir(self.directory) as entries:
                if next(entries, None) is not None:
                    return False
        except OSError:
            return False
        return find_repository(self.directory) is None

    def _empty_tree(self) -> str:
        return hashlib.new(self._algorithm(), b"tree 0\0").hexdigest()

    def _algorithm(self) -> str:
        repository = self._repository or find_repository(self.directory)
        head = None if repository is None else repository.head()
        return "sha256" if head is not None and len(head) == 64 else "sha1"

    def _ready(self, deadline: float) -> Git:
        """Git, in a repository of ours that knows the objects of theirs."""
        repository = find_repository(self.directory)
        if self._git is None or repository != self._repository:
            self._repository = repository
            self._tree = None
            work_tree = self.directory if repository is None else repository.work_tree
            self._git = Git(self._place, work_tree, self._start)
            self._make(self._git, deadline)
        (self._place / "info" / "exclude").write_text(self._excludes())
        return self._git

    def _make(self, git: Git, deadline: float) -> None:
        kept = self._place / "HEAD"
        if not kept.is_file():
            self._place.mkdir(parents=True, exist_ok=True, mode=0o700)
            git.run("init", "--quiet", "--template=", f"--object-format={self._algorithm()}",
                    deadline=deadline)  # fmt: skip
        for folder in ("info", "objects/info", "refs"):
            (self._place / folder).mkdir(parents=True, exist_ok=True)
        if self._repository is not None:
            alternates = f"{self._repository.objects}\n"
            (self._place / "objects" / "info" / "alternates").write_text(alternates)
        self._seed(git, deadline)

    def _seed(self, git: Git, deadline: float) -> None:
        """Begin with what is staged: git then knows of nearly all files that they are the same."""
        index = self._place / "index"
        index.unlink(missing_ok=True)
        if self._repository is None:
            return
        try:
            shutil.copyfile(self._repository.index, index)
            git.run("ls-files", "--error-unmatch", "--", ".git", deadline=deadline)
        except OSError:
            index.unlink(missing_ok=True)
        except GitError as error:
            if "did not match" not in str(error):  # one that is split, or that we cannot read
                index.unlink(missing_ok=True)
        commit = self._repository.head()
        if not index.exists() and commit is not None:
            git.run("read-tree", commit, deadline=deadline)

    def _excludes(self) -> str:
        theirs = ""
        if self._repository is not None:
            with contextlib.suppress(OSError):
                theirs = self._repository.exclude.read_text(errors="surrogateescape")
        root = self._work_tree()
        closed = [Path(each) for each in self._closed]
        ours = "".join(f"/{_escaped(c.relative_to(root))}/\n" for c in closed if root in c.parents)
        return f"node_modules/\n{ours}{theirs}"

    def _scope(self) -> list[str]:
        """What limits git to the directory, where it is only a part of a repository."""
        prefix = self._prefix()
        return ["--", f":(literal){prefix}"] if prefix else []

    def _prefix(self) -> str:
        if self._repository is None or self._repository.work_tree == self.directory:
            return ""
        return f"{self.directory.relative_to(self._repository.work_tree)}/"

    def _work_tree(self) -> Path:
        return self.directory if self._repository is None else self._repository.work_tree

    def _expand(self, paths: Sequence[bytes], deadline: float) -> Iterator[bytes]:
        """The same, with the files of repositories that lie in the directory."""
        for path in paths:
            if not path.endswith(b"/"):
                yield path
                continue
            # As a tree of its own, of which nothing is known yet: else git does not look into it.
            inner = Git(self._place, self._work_tree() / os.fsdecode(path), self._start, "no-index")
            listing = inner.run(
                "ls-files", "-z", "--others", "--exclude-standard", deadline=deadline
            )
            for name in listing.split(b"\0"):
                if name and not name.endswith(b"/"):
                    yield path + name

    # --- Taking files in ---

    def _add(self, git: Git, files: Sequence[bytes], deadline: float) -> None:
        if len(files) > MOST_FILES:
            raise SnapshotTooLarge(f"more than {MOST_FILES} files are new or changed")
        root = os.fsencode(self._work_tree())
        plain: list[bytes] = []
        opaque: list[bytes] = []
        total = 0
        for path in files:
            size, signature = _look(root + b"/" + path)
            if signature is None:
                plain.append(path)
                total += size
            else:
                blob = self._store_blob(b"\0" + signature)
                opaque.append(b"100644 %s\t%s" % (blob.encode(), path))
        if total > MOST_BYTES:
            raise SnapshotTooLarge(f"files of more than {MOST_BYTES >> 20} MiB are new or changed")
        if plain:
            git.run("update-index", "-z", "--add", "--remove", "--replace", "--stdin",
                    stdin=b"".join(path + b"\0" for path in plain), deadline=deadline)  # fmt: skip
        if opaque:
            git.run("update-index", "-z", "--add", "--replace", "--index-info",
                    stdin=b"".join(line + b"\0" for line in opaque), deadline=deadline)  # fmt: skip

    def _store_blob(self, content: bytes) -> str:
        """Keep a few bytes as git would, without starting it."""
        data = b"blob %d\0%s" % (len(content), content)
        name = hashlib.new(self._algorithm(), data).hexdigest()
        path = self._place / "objects" / name[:2] / name[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(zlib.compress(data))
            os.replace(file.name, path)
        return name

    # --- Differences ---

    def diff(self, before: str, after: str, *, most_bytes: int, deadline_s: float) -> Patch:
        """What has to be done to one tree to make it the other one. Raise GitError."""
        files, output, complete = self._compare(before, after, (), deadline_s)
        return assemble(files, output, complete=complete, most_bytes=most_bytes)

    def diff_each(
        self,
        before: str,
        after: str,
        paths: Sequence[str],
        most_bytes: int,
        deadline_s: float,
    ) -> dict[str, str]:
        """The same for each of these paths, as far as they differ."""
        files, output, complete = self._compare(before, after, paths, deadline_s)
        found = {}
        for file, text, size in each_file(files, output, complete=complete):
            fits = text is not None and len(text) <= most_bytes
            found[file.path] = text if fits and text else left_out_line(file.path, size)
        return found

    def _compare(
        self, before: str, after: str, paths: Sequence[str], deadline_s: float
    ) -> tuple[Sequence[ChangedFile], bytes, bool]:
        """The files that differ, git's patch of them, and whether that is all of it."""
        if before == after:
            return (), b"", True
        with self._lock:
            deadline = time.monotonic() + deadline_s
            git = self._ready(deadline)
            prefix = self._prefix()
            where = [f"--relative={prefix}"] if prefix else []
            chosen = [f":(literal){prefix}{path}" for path in paths] or self._scope()[1:]
            trees = [before, after, *(["--", *chosen] if chosen else [])]
            raw = git.run("diff-tree", *_PATCH, *where, "-z", "--raw", *trees, deadline=deadline)
            files = parse_raw(raw)
            if not files:
                return (), b"", True
            output = git.run("diff-tree", *_PATCH, *where, "-p", *trees,
                             deadline=deadline, most_bytes=_READ_BYTES)  # fmt: skip
        return files, output, len(output) <= _READ_BYTES

    def ignored(self, paths: Sequence[str], deadline_s: float) -> frozenset[str]:
        """Those of these paths, in the directory, that git ignores. Raise GitError."""
        if not paths:
            return frozenset()
        with self._lock:
            deadline = time.monotonic() + deadline_s
            git = self._ready(deadline)
            prefix = os.fsencode(self._prefix())
            stdin = b"".join(prefix + os.fsencode(path) + b"\0" for path in paths)
            try:
                output = git.run("check-ignore", "-z", "--stdin", stdin=stdin, deadline=deadline)
            except GitError as error:
                if "ended with the code 1" in str(error):  # none is
                    return frozenset()
                raise
        return frozenset(
            os.fsdecode(path.removeprefix(prefix)) for path in output.split(b"\0") if path
        )

    # --- Names of trees ---

    def remember(self, name: str, tree: str | None) -> None:
        """Keep a tree under a name, over restarts; None: forget it."""
        ref = self._place / "refs" / name
        if tree is None:
            ref.unlink(missing_ok=True)
            return
        if not (self._place / "HEAD").is_file():
            with self._lock:
                self._ready(time.monotonic() + 5.0)
        ref.parent.mkdir(parents=True, exist_ok=True)
        partial = ref.with_name(f".{ref.name}.partial")
        partial.write_text(f"{tree}\n")
        partial.replace(ref)

    def recall(self, name: str) -> str | None:
        """The tree of that name."""
        with contextlib.suppress(OSError):
            return (self._place / "refs" / name).read_text().strip() or None
        return None

    def prune(self, deadline_s: float) -> None:
        """Remove objects of ours that no name leads to, where there are many. Raise GitError."""
        with self._lock:
            if self._git is not None and _loose(self._place / "objects") > MOST_LOOSE:
                self._git.run("prune", "--expire=now", deadline=time.monotonic() + deadline_s)


def _escaped(path: Path) -> str:
    """A path as a pattern that matches nothing else."""
    return re.sub(r"([*?\[\\ !#])", r"\\\1", str(path))


def _paths(listing: bytes) -> list[bytes]:
    """The paths of a listing with tags, each once."""
    return list(dict.fromkeys(entry[2:] for entry in listing.split(b"\0") if entry))


def _look(path: bytes) -> tuple[int, bytes | None]:
    """How large a file is, and what stands for it where its content is not looked at."""
    try:
        found = os.lstat(path)
    except OSError:
        return 0, None  # gone, which git sees too
    if not stat.S_ISREG(found.st_mode):
        return 0, None
    if found.st_size > LARGE_BYTES or not os.access(path, os.R_OK):
        return 0, b"%d %d" % (found.st_size, found.st_mtime_ns)
    return found.st_size, None


def _loose(objects: Path) -> int:
    """About how many objects lie there one by one: they are spread evenly."""
    try:
        return 256 * len(os.listdir(objects / "17"))
    except OSError:
        return 0
