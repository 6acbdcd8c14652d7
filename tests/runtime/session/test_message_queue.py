"""What waits for an agent, and what is on its way to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from dragoman.runtime.session.message_queue import MessageQueue
from dragoman.store import MessageRow
from dragoman.store.sqlite import SqliteStore
from tests.store.shelf import create, using


def message(message_id: str, *, steer: bool = False) -> MessageRow:
    return MessageRow(message_id=message_id, text=f"say {message_id}", created_at=1, steer=steer)


def holding(
    data_dir: Path, *messages: MessageRow, then: Callable[[MessageQueue], Awaitable[None]]
) -> None:
    """Do something with a mailbox over a real store in which these messages wait."""

    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        for each in messages:
            await store.accept("s", each)
        mail = MessageQueue(store, "s")
        assert mail.stale
        await mail.refresh()
        await then(mail)

    using(data_dir, work)


def named(row: MessageRow | None) -> str | None:
    return None if row is None else row.message_id


def shown(mail: MessageQueue) -> list[str] | None:
    """What people are told about the queue; None: nothing new."""
    news = mail.news()
    return None if news is None else [waiting.message_id for waiting in news.messages]


def test_messages_are_sent_in_order_and_each_once(data_dir: Path) -> None:
    async def then(mail: MessageQueue) -> None:
        assert not mail.stale
        assert named(mail.next()) == "a"
        mail.mark_sent("a", in_turn=False)
        assert named(mail.next()) == "b"
        mail.mark_sent("b", in_turn=False)
        assert mail.next() is None

    holding(data_dir, message("a"), message("b"), then=then)


def test_only_what_may_join_a_turn_is_sent_into_one(data_dir: Path) -> None:
    async def then(mail: MessageQueue) -> None:
        assert named(mail.next(steer=True)) == "b"
        mail.mark_sent("b", in_turn=True)
        assert mail.next(steer=True) is None
        assert named(mail.next()) == "a"

    holding(data_dir, message("a"), message("b", steer=True), then=then)


def test_what_is_on_its_way_is_so_until_it_is_delivered(data_dir: Path) -> None:
    async def then(mail: MessageQueue) -> None:
        before = mail.on_way
        mail.mark_sent("a", in_turn=True)
        assert (before, mail.on_way) == (False, True)
        assert (mail.is_on_way("a"), mail.is_on_way("b")) == (True, False)
        mail.delivered("a")
        assert not mail.is_on_way("a")
        assert named(mail.next()) == "b"

    holding(data_dir, message("a"), message("b"), then=then)


def test_what_was_delivered_takes_no_room_even_if_it_was_told_of_late(data_dir: Path) -> None:
    """Before, a message that the agent had could keep the next one out for a moment."""

    async def then(mail: MessageQueue) -> None:
        mail.accepted("a", 5)
        mail.delivered("a")
        assert mail.sizes == {}
        assert mail.stale

    holding(data_dir, message("a"), then=then)


def test_what_was_on_its_way_to_a_process_that_is_gone_waits_again(data_dir: Path) -> None:
    async def then(mail: MessageQueue) -> None:
        mail.mark_sent("a", in_turn=False)
        assert mail.requeue() == ["a"]
        assert named(mail.next()) == "a"
        assert mail.requeue() == []

    holding(data_dir, message("a"), message("b"), then=then)


def test_the_queue_is_told_whenever_it_has_changed(data_dir: Path) -> None:
    async def then(mail: MessageQueue) -> None:
        assert shown(mail) == ["a", "b"]
        assert shown(mail) is None
        mail.mark_sent("a", in_turn=True)
        assert shown(mail) is None
        mail.delivered("a")
        assert shown(mail) == ["b"]
        mail.delivered("b")
        assert shown(mail) == []
        assert shown(mail) is None

    holding(data_dir, message("a"), message("b"), then=then)


def test_a_message_that_need_not_wait_is_never_in_the_queue(data_dir: Path) -> None:
    async def then(mail: MessageQueue) -> None:
        mail.mark_sent("a", in_turn=False)
        assert shown(mail) is None
        mail.delivered("a")
        assert shown(mail) is None

    holding(data_dir, message("a"), then=then)


def test_a_message_that_comes_back_from_a_dead_process_is_in_the_queue(data_dir: Path) -> None:
    async def then(mail: MessageQueue) -> None:
        mail.mark_sent("a", in_turn=False)
        mail.requeue()
        assert shown(mail) == ["a"]

    holding(data_dir, message("a"), then=then)


def test_a_message_that_was_taken_back_is_told_by_name_and_not_again(data_dir: Path) -> None:
    async def then(mail: MessageQueue) -> None:
        assert shown(mail) == ["a", "b"]
        left = mail.without("a")
        assert [waiting.message_id for waiting in left.messages] == ["b"]
        assert left.cancelled == "a"
        mail.cancelled("a")
        assert shown(mail) is None
        assert named(mail.next()) == "b"

    holding(data_dir, message("a"), message("b"), then=then)


def test_a_session_that_ends_delivers_nothing_more(data_dir: Path) -> None:
    async def then(mail: MessageQueue) -> None:
        mail.mark_sent("a", in_turn=False)
        mail.clear()
        assert mail.next() is None
        assert not mail.on_way

    holding(data_dir, message("a"), message("b"), then=then)
