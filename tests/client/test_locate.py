"""The client finds address and token by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.client import Address, locate
from dragoman.errors import DragomanError, InvalidRequest
from dragoman.settings import default_data_dir

RUNNING = "http://127.0.0.1:7777"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder of a running daemon."""
    (tmp_path / "daemon.json").write_text(f'{{"url": "{RUNNING}", "pid": 1}}')
    (tmp_path / "token").write_text("kept\n")
    return tmp_path


def test_what_is_given_wins(folder: Path) -> None:
    environ = {"DRAGOMAN_URL": "http://localhost:1", "DRAGOMAN_TOKEN": "variable"}
    found = locate(environ, url="http://localhost:2/", token="given", data_dir=folder)
    assert found == Address(url="http://localhost:2", token="given")


def test_the_environment_wins_over_the_folder(folder: Path) -> None:
    environ = {"DRAGOMAN_URL": "http://localhost:1", "DRAGOMAN_TOKEN": "variable"}
    assert locate(environ, data_dir=folder) == Address(url="http://localhost:1", token="variable")


def test_the_folder_names_the_running_daemon_and_its_token(folder: Path) -> None:
    expected = Address(url=RUNNING, token="kept")
    assert locate({}, data_dir=folder) == expected
    assert locate({"DRAGOMAN_DATA_DIR": str(folder)}) == expected


def test_a_token_file_wins_over_the_folders(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("from-file\n")
    assert locate({"DRAGOMAN_TOKEN_FILE": str(other)}, data_dir=folder).token == "from-file"


def test_without_anything_it_is_the_default_address(tmp_path: Path) -> None:
    assert locate({"HOME": str(tmp_path)}) == Address(url="http://127.0.0.1:2468")


def test_a_broken_note_of_the_daemon_counts_as_none(folder: Path) -> None:
    (folder / "daemon.json").write_text("{")
    assert locate({}, data_dir=folder).url == "http://127.0.0.1:2468"


def test_the_folders_token_is_not_handed_to_another_machine(folder: Path) -> None:
    assert locate({}, url="https://example.org", data_dir=folder).token is None


def test_the_folders_token_goes_to_the_folders_daemon_wherever_it_listens(folder: Path) -> None:
    (folder / "daemon.json").write_text('{"url": "http://10.0.0.5:2468", "pid": 1}')
    assert locate({}, data_dir=folder) == Address(url="http://10.0.0.5:2468", token="kept")


SPELLINGS = [f"http://{host}:7777" for host in ("localhost", "LocalHost", "127.0.0.1", "[::1]")]


@pytest.mark.parametrize("url", SPELLINGS)
@pytest.mark.parametrize("running", SPELLINGS)
def test_the_folders_token_goes_to_its_daemon_however_it_is_spelled(
    folder: Path, url: str, running: str
) -> None:
    (folder / "daemon.json").write_text(json.dumps({"url": running, "pid": 1}))
    assert locate({}, url=f"{url}/", data_dir=folder) == Address(url=url, token="kept")


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:7778", "http://localhost", "http://127.0.0.2:7777", "https://localhost:7777",
     "http://127.0.0.1:2468"],
)  # fmt: skip
def test_the_folders_token_is_not_handed_to_whoever_else_listens_here(
    folder: Path, url: str
) -> None:
    assert locate({}, url=url, data_dir=folder).token is None
    assert locate({"DRAGOMAN_URL": url}, data_dir=folder).token is None


def test_where_no_daemon_runs_the_folders_token_goes_to_the_default_address_only(
    folder: Path,
) -> None:
    (folder / "daemon.json").unlink()
    assert locate({}, url="http://localhost:2468", data_dir=folder).token == "kept"
    assert locate({}, url="http://localhost:7777", data_dir=folder).token is None


def test_the_running_daemon_says_which_file_holds_its_token(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.write_text("its-own\n")
    told = {"url": RUNNING, "pid": 1, "tokenFile": str(other)}
    (folder / "daemon.json").write_text(json.dumps(told))
    assert locate({}, data_dir=folder).token == "its-own"
    assert locate({"DRAGOMAN_TOKEN": "variable"}, data_dir=folder).token == "variable"
    assert locate({}, url="http://localhost:1", data_dir=folder).token is None


def test_a_daemon_that_was_given_its_token_is_not_shown_the_folders(folder: Path) -> None:
    told = {"url": RUNNING, "pid": 1, "tokenGiven": True}
    (folder / "daemon.json").write_text(json.dumps(told))
    assert locate({}, data_dir=folder) == Address(url=RUNNING, token_given=True)
    found = locate({}, token="given", data_dir=folder)
    assert found == Address(url=RUNNING, token="given", token_given=True)
    assert not locate({}, url="http://localhost:1", data_dir=folder).token_given


def test_a_named_token_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(DragomanError, match="cannot read the token file"):
        locate({"DRAGOMAN_TOKEN_FILE": str(tmp_path / "none")}, data_dir=tmp_path)


@pytest.mark.parametrize(
    "url", ["localhost:2468", "ftp://x", "http://", "http://[::1", "http://x:y"]
)
def test_what_is_no_address_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(InvalidRequest, match="no address"):
        locate({}, url=url, data_dir=tmp_path)


def test_a_token_that_no_header_can_hold_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(DragomanError) as caught:
        locate({}, token="se\ncret", data_dir=tmp_path)
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize("environ", [{"HOME": "/h"}, {"HOME": "/h", "XDG_DATA_HOME": "/x"}])
def test_client_and_daemon_agree_on_the_data_folder(
    environ: dict[str, str], tmp_path: Path
) -> None:
    shifted = {name: str(tmp_path) + value for name, value in environ.items()}
    folder = default_data_dir(shifted)
    folder.mkdir(parents=True)
    (folder / "token").write_text("here")
    assert locate(shifted).token == "here"
