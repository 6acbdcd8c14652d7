"""Messages and requests: accepted once, delivered in order, answered where they were asked."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dragoman.errors import Conflict, KeyReused, NotFound, SessionEndedError
from dragoman.schema.commands import Attachment
from dragoman.schema.events import (
    Draft,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QueueUpdated,
)
from dragoman.store import Append, MessageRow
from dragoman.store.sqlite import SqliteStore
from tests.store.shelf import ENDED, create, message, row, said, using


def test_messages_wait_in_the_order_in_which_they_were_accepted(data_dir: Path) -> None:
    async def write(store: SqliteStore) -> None:
        await create(store, "s")
        for name in ("m3", "m1", "m2"):
            receipt = await store.accept("s", message(name))
            assert (receipt.message_id, receipt.fresh) == (name, True)

    async def read(store: SqliteStore) -> list[str]:
        return [waiting.message_id for waiting in await store.queued("s")]

    using(data_dir, write)
    assert using(data_dir, read) == ["m3", "m1", "m2"]


def test_the_same_key_is_accepted_once_and_gives_the_first_id(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        receipts = await asyncio.gather(
            *(store.accept("s", message(f"m{at}", key="k")) for at in range(100))
        )
        assert {receipt.message_id for receipt in receipts} == {"m0"}
        assert [receipt.fresh for receipt in receipts] == [True, *[False] * 99]
        assert len(await store.queued("s")) == 1

    using(data_dir, work)


def test_the_same_key_holds_after_the_message_was_delivered_and_the_session_ended(
    data_dir: Path,
) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.accept("s", message("m1", key="k"))
        await store.append(Append("s", [said("turn")], delivered=["m1"]))
        ended = row("s", ended=True).state
        await store.append(Append("s", [ENDED], state=ended))
        again = await store.accept("s", message("m2", key="k"))
        assert (again.message_id, again.fresh) == ("m1", False)

    using(data_dir, work)


def test_a_key_with_other_words_is_refused(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.accept("s", message("m1", "one", key="k"))
        with pytest.raises(KeyReused):
            await store.accept("s", message("m2", "two", key="k"))
        attached = MessageRow(
            message_id="m3", text="one", attachments=(Attachment(path="/a"),), created_at=1, key="k"
        )
        with pytest.raises(KeyReused):
            await store.accept("s", attached)
        assert [waiting.message_id for waiting in await store.queued("s")] == ["m1"]

    using(data_dir, work)


def test_a_key_belongs_to_its_session(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await create(store, "t")
        await store.accept("s", message("m1", key="k"))
        assert (await store.accept("t", message("m2", "other", key="k"))).fresh

    using(data_dir, work)


def test_without_a_key_the_same_words_are_two_messages(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        assert (await store.accept("s", message("m1"))).fresh
        assert (await store.accept("s", message("m2"))).fresh

    using(data_dir, work)


def test_a_delivered_message_waits_no_more_and_that_is_stored_with_its_event(
    data_dir: Path,
) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.accept("s", message("m1"))
        await store.accept("s", message("m2"))
        await store.append(Append("s", [said("m1")], delivered=["m1"]))
        assert [waiting.message_id for waiting in await store.queued("s")] == ["m2"]
        found = await store.session("s")
        assert found is not None
        assert found.queued == 1

    using(data_dir, work)


def test_an_ended_session_takes_no_message_and_cancels_what_waited(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.accept("s", message("m1"))
        await store.append(Append("s", [ENDED], state=row("s", ended=True).state))
        assert await store.queued("s") == []
        with pytest.raises(SessionEndedError):
            await store.accept("s", message("m2"))

    using(data_dir, work)


def test_a_waiting_message_can_be_taken_back_once(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.accept("s", message("m1"))
        empty = [Draft(QueueUpdated(messages=()))]
        assert await store.append(Append("s", empty, cancelled="m1")) == 2
        assert await store.queued("s") == []
        with pytest.raises(Conflict, match="cancelled"):
            await store.append(Append("s", empty, cancelled="m1"))
        assert await store.append(Append("s", [said("no number was lost")])) == 3

    using(data_dir, work)


def test_what_was_delivered_or_never_was_cannot_be_taken_back(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await create(store, "t")
        await store.accept("s", message("m1"))
        with pytest.raises(NotFound):
            await store.append(Append("t", [said("x")], cancelled="m1"))
        await store.append(Append("s", [said("x")], delivered=["m1"]))
        with pytest.raises(Conflict, match="delivered"):
            await store.append(Append("s", [said("x")], cancelled="m1"))
        with pytest.raises(NotFound):
            await store.append(Append("s", [said("x")], cancelled="nothing"))

    using(data_dir, work)


def test_a_request_is_found_in_its_session_and_ends_as_its_resolution(data_dir: Path) -> None:
    asked = PermissionRequested(permission_id="perm_1", action="run")
    resolved = PermissionResolved(permission_id="perm_1", action="run", status="accept")

    async def ask(store: SqliteStore) -> None:
        await create(store, "s")
        await create(store, "t")
        await store.append(Append("s", [Draft(asked)]))

    async def answer(store: SqliteStore) -> None:
        found = await store.request("s", "perm_1")
        assert found is not None
        assert (found.kind, found.body) == ("permission", asked)
        assert await store.request("t", "perm_1") is None
        assert await store.request("s", "perm_2") is None
        await store.watch("s")
        await store.append(Append("s", [Draft(resolved)]))
        found = await store.request("s", "perm_1")
        assert found is not None
        assert found.body == resolved

    using(data_dir, ask)
    using(data_dir, answer)


def test_a_question_is_kept_as_one(data_dir: Path) -> None:
    asked = QuestionRequested(question_id="qst_1", prompt="which?", options=("a", "b"))

    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [Draft(asked)]))
        found = await store.request("s", "qst_1")
        assert found is not None
        assert (found.kind, found.body) == ("question", asked)

    using(data_dir, work)
