"""An agent is installed whole or not at all, whatever happens on the way."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from dragoman.adapter import Adapter
from dragoman.errors import Conflict, InstallFailed, InvalidRequest, Unavailable
from dragoman.facts import Bundle, OlderPackage, Package
from dragoman.runtime.provision.install import Installer, InstallProgress, platform_name
from tests.installable_agent import ADAPTER, INTEGRITY, OTHER, VERSION, Npm, fails, waits

ROOT = Path(__file__).parents[3]


@pytest.fixture
def npm(tmp_path: Path) -> Npm:
    """An npm that works."""
    return Npm(tmp_path / "bin")


@pytest.fixture
def installer(tmp_path: Path, npm: Npm) -> Installer:
    """An installer that finds it."""
    return Installer(tmp_path / "agents", npm.environ)


def left(installer: Installer) -> list[str]:
    """What is in the agent's folder, but for the lock."""
    return sorted(set(os.listdir(installer.folder / "parrot")) - {".lock"})


def runs(path: Path) -> str:
    return subprocess.check_output([path, "--version"], text=True).split()[1]


def test_the_proven_version_is_installed_and_runs(installer: Installer) -> None:
    path = installer.install(ADAPTER)
    assert runs(path) == VERSION
    assert path.is_relative_to(installer.folder / "parrot" / VERSION)
    assert installer.versions(ADAPTER) == [VERSION]
    assert left(installer) == [VERSION]


def test_progress_is_told_from_the_first_question_to_the_end(
    installer: Installer, npm: Npm, tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    npm.behave(
        "package.mkdir(parents=True)\n(package / 'half').write_text('half')\n"
        f"Path({str(fifo)!r}).read_text()\n"
    )
    told: list[InstallProgress] = []

    def report(progress: InstallProgress) -> None:
        told.append(progress)
        if progress.phase == "downloading":
            fifo.write_text("go on")

    installer.install(ADAPTER, report=report)
    phases = list(dict.fromkeys(progress.phase for progress in told))
    assert phases == ["resolving", "downloading", "checking", "done"]
    assert next(p for p in told if p.phase == "downloading").size_bytes == len("half")


def test_what_is_installed_is_not_fetched_again(installer: Installer, npm: Npm) -> None:
    first = installer.install(ADAPTER)
    assert installer.install(ADAPTER) == first
    assert len(npm.calls()) == 1


def test_a_reinstall_replaces_it_while_it_may_be_in_use(installer: Installer, npm: Npm) -> None:
    path = installer.install(ADAPTER)
    before = path.stat().st_ino
    with path.open() as held:
        assert installer.install(ADAPTER, reinstall=True) == path
        assert held.read().startswith("#!")
    assert path.stat().st_ino != before
    assert len(npm.calls()) == 2
    assert left(installer) == [VERSION]


def test_versions_stand_side_by_side_and_the_proven_one_is_preferred(installer: Installer) -> None:
    installer.install(ADAPTER, OTHER)
    installer.install(ADAPTER, "1.9.0")
    assert installer.versions(ADAPTER) == ["1.9.0", OTHER]
    assert installer.best(ADAPTER) == OTHER
    installer.install(ADAPTER)
    assert installer.best(ADAPTER) == VERSION


def test_npm_is_told_to_run_nothing_and_sees_only_what_it_needs(tmp_path: Path, npm: Npm) -> None:
    secret = {"API_KEY": "secret", "DRAGOMAN_TOKEN": "secret", "npm_config_foo": "kept"}
    Installer(tmp_path / "agents", {**npm.environ, **secret}).install(ADAPTER)
    (call,) = npm.calls()
    assert "--ignore-scripts" in call["argv"]
    assert call["argv"][-1] == f"@birds/parrot@{VERSION}"
    assert {"API_KEY", "DRAGOMAN_TOKEN"}.isdisjoint(call["environ"])
    assert {"HOME", "PATH", "npm_config_foo"} <= set(call["environ"])


def test_a_package_may_have_a_version_for_each_platform(tmp_path: Path, npm: Npm) -> None:
    here = platform_name()
    package = Package(
        version=VERSION,
        names={here: "@birds/parrot"},
        integrity={here: f"{INTEGRITY}-here"},
        executable={here: "vendor/here/bin/parrot"},
        suffixes={here: "-here"},
    )
    npm.behave(f"executable, says = 'vendor/here/bin/parrot', {VERSION!r}")
    adapter: Adapter = msgspec.structs.replace(ADAPTER, package=package)
    installer = Installer(tmp_path / "agents", npm.environ)
    path = installer.install(adapter)
    assert npm.calls()[0]["argv"][-1] == f"@birds/parrot@{VERSION}-here"
    assert installer.versions(adapter) == [VERSION]
    assert str(path).endswith("@birds/parrot/vendor/here/bin/parrot")
    assert runs(path) == VERSION


def _packed(npm: Npm, content: bytes) -> Adapter:
    """A parrot whose program is compressed in its package."""
    file = npm.folder / "parrot.br"
    file.write_bytes(content)
    npm.behave(
        f"executable = 'bin/readme'\nimport shutil\n(package / 'packed').mkdir(parents=True)\n"
        f"shutil.copy({str(file)!r}, package / 'packed' / 'parrot.br')"
    )
    assert ADAPTER.package is not None
    package = msgspec.structs.replace(
        ADAPTER.package, executable="packed/parrot", compressed="packed/parrot.br"
    )
    packed: Adapter = msgspec.structs.replace(ADAPTER, package=package)
    return packed


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_a_program_that_is_compressed_is_unpacked(installer: Installer, npm: Npm) -> None:
    """As Grok's is, by a script that we do not run."""
    program = f"#!/bin/sh\necho parrot {VERSION}\n"
    compress = "process.stdout.write(require('zlib').brotliCompressSync(process.argv[1]))"
    content = subprocess.check_output(["node", "-e", compress, program])
    path = installer.install(_packed(npm, content))
    assert runs(path) == VERSION
    assert sorted(os.listdir(path.parent)) == ["parrot"]


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_a_program_that_cannot_be_unpacked_is_not_installed(installer: Installer, npm: Npm) -> None:
    with pytest.raises(InstallFailed, match=r"parrot\.br cannot be decompressed: "):
        installer.install(_packed(npm, b"no such thing"))
    assert left(installer) == []


def test_an_older_version_may_have_its_executable_elsewhere(tmp_path: Path, npm: Npm) -> None:
    """Before, a version was refused whose package is laid out as it was then (Codex 0.101)."""
    here = platform_name()
    package = Package(
        version=VERSION,
        names={here: "@birds/parrot"},
        integrity={},
        executable={here: "vendor/bin/parrot"},
        former={here: "vendor/parrot/parrot"},
    )
    npm.behave("executable = 'vendor/parrot/parrot'")
    adapter: Adapter = msgspec.structs.replace(ADAPTER, package=package)
    installer = Installer(tmp_path / "agents", npm.environ)
    path = installer.install(adapter, OTHER)
    assert str(path).endswith("@birds/parrot/vendor/parrot/parrot")
    assert installer.versions(adapter) == [OTHER]
    npm.behave("executable = 'nowhere'")
    with pytest.raises(InstallFailed, match=r"'vendor/bin/parrot' or 'vendor/parrot/parrot'; noth"):
        installer.install(adapter)


def test_an_older_version_may_come_from_another_package(tmp_path: Path, npm: Npm) -> None:
    """Before, npm was asked for a package that there was not yet (Claude Code 2.1.19)."""
    here = platform_name()
    package = Package(
        version=OTHER,
        names={here: "@birds/parrot-here"},
        integrity={},
        executable="parrot",
        suffixes={here: "-here"},
        older=OlderPackage(before=OTHER, name="@birds/parrot", executable="cli.js"),
    )
    adapter: Adapter = msgspec.structs.replace(ADAPTER, package=package)
    installer = Installer(tmp_path / "agents", npm.environ)
    npm.behave("executable = 'cli.js'")
    assert str(installer.install(adapter, VERSION)).endswith("node_modules/@birds/parrot/cli.js")
    npm.behave("executable, says = 'parrot', version.removesuffix('-here')")
    assert str(installer.install(adapter)).endswith("node_modules/@birds/parrot-here/parrot")
    assert [call["argv"][-1] for call in npm.calls()] == [
        f"@birds/parrot@{VERSION}",
        f"@birds/parrot-here@{OTHER}-here",
    ]
    assert installer.versions(adapter) == [VERSION, OTHER]


# --- What goes wrong ---


def test_another_integrity_is_refused_and_both_are_named(installer: Installer, npm: Npm) -> None:
    npm.behave("integrity = 'sha512-of-something-else'")
    with pytest.raises(InstallFailed) as failed:
        installer.install(ADAPTER)
    assert "sha512-of-something-else" in str(failed.value)
    assert INTEGRITY in str(failed.value)
    assert left(installer) == []


def test_a_failed_reinstall_leaves_what_was_there(installer: Installer, npm: Npm) -> None:
    path = installer.install(ADAPTER)
    npm.behave("integrity = 'sha512-of-something-else'")
    with pytest.raises(InstallFailed):
        installer.install(ADAPTER, reinstall=True)
    assert runs(path) == VERSION


@pytest.mark.parametrize(
    ("first", "why"),
    [
        ("executable = 'elsewhere'", "no executable 'bin/parrot'"),
        ("says = '9.9.9'", "its version is 9.9.9"),
        ("says = 'nothing'", "its version is unknown"),
        ("sys.exit(0)", "package-lock.json"),
        (fails("ETARGET", "notarget No matching"), r"@birds/parrot@1\.2\.3: there is no such ver"),
        (fails("E404", "404 Not Found"), "there is no such package"),
        (fails("ENOSPC"), "no space is left"),
        (fails("EODD", "errno 7", "something odd"), r"@birds/parrot@1\.2\.3: something odd"),
        ("sys.exit(7)", "it ended with code 7"),
    ],
)
def test_a_failure_is_told_in_one_line_and_leaves_nothing(
    installer: Installer, npm: Npm, first: str, why: str
) -> None:
    npm.behave(first)
    with pytest.raises(InstallFailed, match=why) as failed:
        installer.install(ADAPTER)
    assert "\n" not in str(failed.value)
    assert left(installer) == []


MISSING = (
    (fails("ETARGET", "notarget No matching version found for @birds/seed@^4.0.0."),
     r"it depends on @birds/seed@\^4\.0\.0, and there is no such version"),
    (fails("E404", "404 Not Found - GET /seed", "404  'seed@1' is not in this registry."),
     "it depends on seed@1, and there is no such package"),
    (fails("E404", "404  The requested resource '@birds/parrots@2' could not be found or you do"),
     "it depends on @birds/parrots@2, and there is no such package"),
)  # fmt: skip


@pytest.mark.parametrize(("first", "why"), MISSING)
def test_a_dependency_that_is_missing_is_not_told_as_a_version_that_is(
    installer: Installer, npm: Npm, first: str, why: str
) -> None:
    """Before, it was said of the package itself, whose version there is, to choose another one."""
    npm.behave(first)
    with pytest.raises(InstallFailed, match=rf"@birds/parrot@1\.2\.3: {why}") as failed:
        installer.install(ADAPTER)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize(
    "line",
    [
        "notarget No matching version found for @birds/parrot@1.2.3.",
        "404  '@birds/parrot@1.2.3' is not in this registry.",
    ],
)
def test_a_version_that_is_missing_is_told_as_such(
    installer: Installer, npm: Npm, line: str
) -> None:
    npm.behave(fails("ETARGET" if line.startswith("notarget") else "E404", line))
    with pytest.raises(InstallFailed, match=r"@birds/parrot@1\.2\.3: there is no such "):
        installer.install(ADAPTER)


def test_a_program_that_cannot_tell_its_version_is_not_installed(
    installer: Installer, npm: Npm
) -> None:
    """Before, a number in its last words passed for its version."""
    broken = "#!/bin/sh\\necho SyntaxError in Node.js 1.2.3 >&2; exit 1\\n"
    npm.behave(f"path = package / executable\npath.parent.mkdir(parents=True)\n"
               f"path.write_text('{broken}')\npath.chmod(0o755)\n"
               "(prefix / 'package-lock.json').write_text(json.dumps({'packages': {"
               "'node_modules/' + name: {'integrity': integrity}}}))\nsys.exit(0)")  # fmt: skip
    with pytest.raises(InstallFailed, match="its version is unknown; nothing was installed"):
        installer.install(ADAPTER)
    assert left(installer) == []


def test_a_registry_that_cannot_be_reached_is_tried_again_but_not_for_ever(
    installer: Installer, npm: Npm
) -> None:
    npm.behave(fails("EAI_AGAIN", "request failed"))
    with pytest.raises(InstallFailed, match="registry cannot be reached"):
        installer.install(ADAPTER)
    assert len(npm.calls()) == 2


def test_without_npm_it_says_what_to_install(tmp_path: Path) -> None:
    installer = Installer(tmp_path / "agents", {"PATH": str(tmp_path)})
    with pytest.raises(InstallFailed, match=r"install Node\.js 20 or later"):
        installer.install(ADAPTER)


def test_an_npm_that_hangs_is_ended_at_the_deadline(tmp_path: Path, npm: Npm) -> None:
    npm.behave("import signal; signal.pause()")
    installer = Installer(tmp_path / "agents", npm.environ, deadline_s=1.0)
    with pytest.raises(InstallFailed, match="not done after 1 s"):
        installer.install(ADAPTER)
    assert left(installer) == []
    (call,) = npm.calls()
    assert not Path(f"/proc/{call['pid']}").exists()


def test_another_platform_and_no_package_are_refused(installer: Installer) -> None:
    foreign = package(ADAPTER, names={"plan9-mips": "x"})
    with pytest.raises(InstallFailed, match=f"for {platform_name()}, only for plan9-mips;"):
        installer.install(foreign)
    assert not installer.can_install(foreign)
    with pytest.raises(InstallFailed, match="Parrot"):
        installer.install(msgspec.structs.replace(ADAPTER, package=None))


def package(adapter: Adapter, **changes: object) -> Adapter:
    assert adapter.package is not None
    changed: Package = msgspec.structs.replace(adapter.package, **changes)
    return msgspec.structs.replace(adapter, package=changed)


def test_two_agents_of_one_package_share_an_installation(installer: Installer, npm: Npm) -> None:
    twin = msgspec.structs.replace(package(ADAPTER, installed_as="parrot"), id="twin")
    path = installer.install(twin)
    assert path == installer.install(ADAPTER)
    assert len(npm.calls()) == 1
    assert installer.versions(twin) == installer.versions(ADAPTER) == [VERSION]
    with pytest.raises(Conflict, match="runs what is installed as 'parrot'; remove that one"):
        installer.remove(twin)
    installer.remove(ADAPTER)
    assert installer.versions(twin) == []


def test_a_program_with_a_numbering_of_its_own_must_only_run(
    installer: Installer, npm: Npm
) -> None:
    npm.behave("says = '9.9.9'")
    with pytest.raises(InstallFailed, match=r"says that its version is 9\.9\.9"):
        installer.install(ADAPTER)
    installer.install(package(ADAPTER, tells_version=False))
    assert installer.versions(ADAPTER) == [VERSION]
    npm.behave("says = 'none'")
    with pytest.raises(InstallFailed, match="says that its version is unknown"):
        installer.install(package(ADAPTER, tells_version=False), OTHER)


@pytest.mark.parametrize("version", ["../../etc", "latest", "1.2", "-1.2.3", "1.2.3/x", ""])
def test_only_a_full_version_is_one(installer: Installer, npm: Npm, version: str) -> None:
    if version:
        with pytest.raises(InvalidRequest, match=r"like 1\.2\.3"):
            installer.install(ADAPTER, version)
        assert npm.calls() == []
    else:
        assert runs(installer.install(ADAPTER, version)) == VERSION


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, npm: Npm) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InstallFailed, match="cannot install into"):
        Installer(tmp_path / "file" / "agents", npm.environ).install(ADAPTER)


# --- At the same time, and after a death ---


def test_two_at_once_fetch_once(installer: Installer, npm: Npm, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    npm.behave(f"Path({str(fifo)!r}).read_text()")
    waiting = threading.Event()

    def report(progress: InstallProgress) -> None:
        if progress.phase == "waiting":
            waiting.set()

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(installer.install, ADAPTER, report=report) for _ in range(2)]
        assert waiting.wait(30)
        fifo.write_text("go on")
        paths = {future.result() for future in both}
    assert len(paths) == 1
    assert len(npm.calls()) == 1


def test_what_a_killed_installer_left_is_cleared_by_the_next(
    installer: Installer, npm: Npm, tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    npm.behave(waits(fifo))
    code = (
        "import os, sys; from pathlib import Path; from tests.installable_agent import ADAPTER\n"
        "from dragoman.runtime.provision.install import Installer\n"
        "Installer(Path(sys.argv[1]), os.environ).install(ADAPTER)\n"
    )
    killed = subprocess.Popen(
        [sys.executable, "-c", code, str(installer.folder)], env=npm.environ, cwd=ROOT
    )
    orphan = Path("/proc", fifo.read_text())
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert orphan.exists()
    (partial,) = left(installer)
    assert partial.startswith(".partial-")
    assert installer.versions(ADAPTER) == []

    # The dead one's npm is gone before another one writes; of a zombie only the name is left.
    alive = f"Path({str(orphan / 'cmdline')!r})"
    npm.behave(f"assert not {alive}.exists() or not {alive}.read_bytes()")
    assert runs(installer.install(ADAPTER)) == VERSION
    assert left(installer) == [VERSION]


def test_it_gives_up_at_once_where_the_daemon_stops(tmp_path: Path, npm: Npm) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    npm.behave(waits(fifo))
    stop = threading.Event()
    installer = Installer(tmp_path / "agents", npm.environ, stop=stop)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(installer.install, ADAPTER)
        fifo.read_text()
        stop.set()
        with pytest.raises(Unavailable):
            future.result(30)
    assert left(installer) == []


# --- Removing ---


def test_one_version_is_removed_or_all(installer: Installer) -> None:
    for version in (VERSION, OTHER, "2.0.0"):
        installer.install(ADAPTER, version)
    assert installer.remove(ADAPTER, OTHER) == [OTHER]
    assert installer.versions(ADAPTER) == [VERSION, "2.0.0"]
    assert installer.remove(ADAPTER) == [VERSION, "2.0.0"]
    assert installer.remove(ADAPTER) == []
    assert left(installer) == []


# --- The real npm ---


def test_a_real_package_is_installed_by_the_real_npm_also_behind_a_link(tmp_path: Path) -> None:
    real = package(
        msgspec.structs.replace(ADAPTER, id="mkdirp", command=("mkdirp",)),
        version="3.0.1",
        names={platform_name(): "mkdirp"},
        integrity={
            platform_name(): "sha512-+NsyUUAZDmo6YVHzL/stxSu3t9YS1iljliy3BSDrXJ/"
            "dkn1KYdmtZODGGjLcc9XLgVVpH4KshHB8XmZgMhaBXg=="
        },
        executable="dist/cjs/src/bin.js",
    )
    folder = tmp_path / "agents"
    folder.symlink_to(tmp_path, target_is_directory=True)
    installer = Installer(folder, os.environ)
    try:
        path = installer.install(real)
    except InstallFailed as error:
        if "cannot be reached" in str(error) or "npm is not installed" in str(error):
            pytest.skip(str(error))
        raise
    assert subprocess.check_output([path, "--version"], text=True).strip() == "3.0.1"
    tampered = package(real, integrity={platform_name(): "sha512-other"})
    with pytest.raises(InstallFailed, match="sha512-other"):
        installer.install(tampered, reinstall=True)
    assert installer.versions(real) == ["3.0.1"]
    with pytest.raises(InstallFailed, match="there is no such version"):
        installer.install(real, "999.0.0")


# --- An interpreter, and a package without what it depends on ---

_NODE = Package(
    version="24.0.0",
    names={platform_name(): "node-for-parrots"},
    integrity={platform_name(): "sha512-of-node"},
    executable="bin/node",
)
_BESIDE = """
import io, tarfile
if sys.argv[1] == "pack":
    target = Path(sys.argv[sys.argv.index("--pack-destination") + 1])
    script = b"#!/nowhere/node\\n"
    with tarfile.open(target / "parrot.tgz", "w:gz") as archive:
        member = tarfile.TarInfo("package/bin/parrot")
        member.size, member.mode = len(script), 0o755
        archive.addfile(member, io.BytesIO(script))
    print(json.dumps([{"filename": "parrot.tgz", "integrity": "sha512-of-parrot-" + version}]))
    sys.exit()
packages = {}
for word in sys.argv[sys.argv.index("--prefix") + 2:]:
    name, _, version = word.rpartition("@")
    packages["node_modules/" + name] = {"integrity": INTEGRITY}
    (prefix / "node_modules" / name / "bin").mkdir(parents=True)
node = prefix / "node_modules" / "node-for-parrots" / "bin" / "node"
node.write_text("#!/bin/sh\\necho parrot 1.2.3 run by node $1\\n")
node.chmod(0o755)
(prefix / "package-lock.json").write_text(json.dumps({"packages": packages}))
sys.exit()
"""


def _bundled(npm: Npm, integrity: str = "sha512-of-node") -> Adapter:
    """A parrot that comes as a bundle, with its interpreter and a perch beside it."""
    npm.behave(_BESIDE.replace("INTEGRITY", repr(integrity)))
    npm_script = npm.folder / "npm"
    # Only `npm install` is told where to.
    found = 'Path(sys.argv[sys.argv.index("--prefix") + 1])'
    text = npm_script.read_text().replace(
        found, f'{found} if "--prefix" in sys.argv else Path.cwd()'
    )
    npm_script.write_text(text)
    assert ADAPTER.package is not None
    package = msgspec.structs.replace(
        ADAPTER.package, interpreter=_NODE, bundle=Bundle(since="1.0.0", beside={"perch": "2.0.0"})
    )
    return msgspec.structs.replace(ADAPTER, package=package)


def test_a_bundle_is_run_by_the_interpreter_that_comes_with_it(
    installer: Installer, npm: Npm
) -> None:
    parrot = _bundled(npm)
    path = installer.install(parrot)
    command = installer.command(parrot, VERSION)
    assert command is not None
    assert command[1] == str(path)
    assert str(path) in subprocess.check_output([*command, "--version"], text=True)
    assert [call["argv"][0] for call in npm.calls()] == ["install", "pack"]
    assert npm.calls()[0]["argv"][-2:] == ["node-for-parrots@24.0.0", "perch@2.0.0"]
    assert left(installer) == [VERSION]


def test_an_interpreter_that_is_not_what_it_was_is_not_installed(
    installer: Installer, npm: Npm
) -> None:
    with pytest.raises(InstallFailed, match=r"node-for-parrots@24\.0\.0 is not what it was"):
        installer.install(_bundled(npm, "sha512-of-another"))
    assert left(installer) == []
