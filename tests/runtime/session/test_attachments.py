"""Files that go with a message: what must be there, and what becomes an image."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from dragoman.errors import InvalidRequest
from dragoman.runtime.session.attachments import (
    MAX_IMAGE_BYTES,
    ensure_there,
    image_kind,
    prompt_of,
)
from dragoman.schema.commands import Attachment, Prompt
from dragoman.store import MessageRow

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
ROOM = 8 * 1024 * 1024


def prompt(*files: Attachment, room: int = ROOM) -> Prompt:
    row = MessageRow(message_id="m1", text="look", attachments=files, created_at=1)
    return asyncio.run(prompt_of(row, room))


def file(path: Path, content: bytes = b"", mime: str | None = None) -> Attachment:
    path.write_bytes(content)
    return Attachment(path=str(path), mime=mime)


# --- Accepting ---


@pytest.mark.parametrize("path", ["a.png", "./a.png", "~/a.png", ""])
def test_a_path_that_is_not_absolute_is_refused(path: str, tmp_path: Path) -> None:
    there = file(tmp_path / "there")
    with pytest.raises(InvalidRequest, match="must be absolute") as refused:
        asyncio.run(ensure_there([there, Attachment(path=path)]))
    assert refused.value.details == {"field": "attachments[1].path"}


@pytest.mark.parametrize("name", ["gone.png", "a\0b", "x" * 5000])
def test_a_file_that_is_not_there_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="there is no file") as refused:
        asyncio.run(ensure_there([Attachment(path=f"{tmp_path}/{name}")]))
    assert refused.value.details == {"field": "attachments[0].path"}


def test_a_folder_may_be_attached(tmp_path: Path) -> None:
    asyncio.run(ensure_there([Attachment(path=str(tmp_path))]))


# --- Images ---


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0....JFIF", "image/jpeg"),
        (b"GIF89a......", "image/gif"),
        (b"GIF87a......", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\x10\0\0\0WAVEfmt ", None),
        (b"BM......", None),
        (b"<svg xmlns=", None),
        (b"", None),
    ],
)
def test_an_image_is_known_by_its_first_bytes(head: bytes, kind: str | None) -> None:
    assert image_kind(head[:12]) == kind


@pytest.mark.parametrize("mime", [None, "image/png", "image/jpeg", "image/*"])
def test_an_image_is_loaded_with_the_media_type_that_it_really_has(
    mime: str | None, tmp_path: Path
) -> None:
    attachment = file(tmp_path / "picture", PNG, mime)
    loaded = prompt(attachment)
    assert loaded.images == {attachment.path: PNG}
    assert loaded.attachments == (Attachment(path=attachment.path, mime="image/png"),)


def test_whoever_says_that_it_is_no_image_is_believed(tmp_path: Path) -> None:
    attachment = file(tmp_path / "picture.png", PNG, "application/octet-stream")
    loaded = prompt(attachment)
    assert (loaded.images, loaded.attachments) == ({}, (attachment,))


@pytest.mark.parametrize(
    ("name", "mime"), [("a.svg", "image/svg+xml"), ("b.BMP", "image/bmp"), ("c.txt", None)]
)
def test_what_no_model_takes_goes_by_its_path(name: str, mime: str | None, tmp_path: Path) -> None:
    attachment = file(tmp_path / name, b"<svg/>")
    loaded = prompt(attachment)
    assert loaded.images == {}
    assert loaded.attachments == (Attachment(path=attachment.path, mime=mime),)


def test_an_image_of_the_largest_size_is_loaded_and_one_byte_more_goes_by_path(
    tmp_path: Path,
) -> None:
    fits = file(tmp_path / "fits.png", PNG.ljust(MAX_IMAGE_BYTES, b"."))
    larger = file(tmp_path / "larger", PNG.ljust(MAX_IMAGE_BYTES + 1, b"."))
    loaded = prompt(larger, fits)
    assert list(loaded.images) == [fits.path]
    assert [each.mime for each in loaded.attachments] == ["image/png", "image/png"]


def test_images_for_which_there_is_no_room_go_by_their_paths(tmp_path: Path) -> None:
    files = [file(tmp_path / f"{n}.png", PNG.ljust(100, b".")) for n in range(3)]
    assert list(prompt(*files, room=250).images) == [files[0].path, files[1].path]


def test_an_image_that_vanished_goes_by_its_path(tmp_path: Path) -> None:
    attachment = file(tmp_path / "a.png", PNG)
    os.remove(attachment.path)
    loaded = prompt(attachment)
    assert loaded.images == {}
    assert loaded.attachments == (Attachment(path=attachment.path, mime="image/png"),)


def test_a_folder_goes_by_its_path(tmp_path: Path) -> None:
    loaded = prompt(Attachment(path=str(tmp_path)))
    assert (loaded.images, loaded.attachments) == ({}, (Attachment(path=str(tmp_path)),))


def test_a_pipe_that_nobody_writes_to_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    assert prompt(Attachment(path=str(tmp_path / "pipe.png"))).images == {}


def test_a_message_without_files_is_as_it_was() -> None:
    assert prompt() == Prompt(message_id="m1", text="look")
