"""Models, asked of an agent: a stand-in that answers, hangs, fails, or says nonsense."""

from __future__ import annotations

import asyncio
import itertools
import os
from pathlib import Path

import msgspec
import pytest

from dragoman.facts import Catalogue, Launch
from dragoman.runtime.processes import linux
from dragoman.runtime.provision.models import Catalogues, Listing
from dragoman.schema.http import ModeInfo, ModelInfo, ModeList, ModelList
from tests.installable_agent import executable

_marks = itertools.count()


def read(message: bytes) -> tuple[ModelList, ...]:
    found = msgspec.json.decode(message)
    if "models" not in found:
        return ()
    return (ModelList(models=tuple(ModelInfo(id=name) for name in found["models"])),)


CATALOGUE = Catalogue(
    launch=lambda command, cwd: Launch(argv=command, cwd=cwd), ask=b'{"ask":1}', read=read
)
ANSWERS = """#!/bin/sh
read asked
echo x >> "$0.asked"
echo '{"other":1}'
echo "{\\"models\\":[\\"m$(wc -l < "$0.asked")\\"]}"
cat > /dev/null
"""


def stand_in(folder: Path, script: str) -> tuple[str, ...]:
    return (str(executable(folder / "agent", script)),)


def ids(listing: Listing) -> list[str] | None:
    models = listing.models
    return None if models is None else [model.id for model in models.models]


def catalogues(**options: float) -> tuple[Catalogues, str]:
    mark = f"catalogue-{os.getpid()}-{next(_marks)}"
    return Catalogues(mark, **options), mark


def left(mark: str) -> list[int]:
    return [pid for pid, _ in linux.marked(f"{mark}:")]


def test_an_agent_is_asked_once_and_again_where_somebody_wants_it(tmp_path: Path) -> None:
    command = stand_in(tmp_path, ANSWERS)

    async def talk() -> list[list[str] | None]:
        asked, mark = catalogues()
        answers = [
            await asked.listing(CATALOGUE, command, "1"),
            await asked.listing(CATALOGUE, command, "1"),
            await asked.listing(CATALOGUE, command, "1", refresh=True),
            await asked.listing(CATALOGUE, command, "1"),
            await asked.listing(CATALOGUE, command, "2"),
        ]
        assert left(mark) == []
        return [ids(answer) for answer in answers]

    assert asyncio.run(talk()) == [["m1"], ["m1"], ["m2"], ["m2"], ["m3"]]


MODES_FIRST = """#!/bin/sh
read models
read modes
echo '{"modes":["poet"]}'
echo '{"other":1}'
echo '{"models":["m1"]}'
cat > /dev/null
"""


def test_an_agent_may_be_asked_for_its_modes_as_well(tmp_path: Path) -> None:
    def read_both(message: bytes) -> tuple[ModelList | ModeList, ...]:
        names = msgspec.json.decode(message).get("modes", ())
        modes = (ModeInfo(id=name, name=name, description="") for name in names)
        told = (ModeList(modes=tuple(modes)),) if names else ()
        return (*told, *read(message))

    both = msgspec.structs.replace(
        CATALOGUE, ask=b'{"ask":1}\n{"ask":2}', read=read_both, tells_modes=True
    )
    command = stand_in(tmp_path, MODES_FIRST)
    listing = asyncio.run(catalogues()[0].listing(both, command, None))
    assert ids(listing) == ["m1"]
    assert listing.modes is not None
    assert [mode.id for mode in listing.modes.modes] == ["poet"]


def test_one_line_may_tell_both_and_modes_count_without_models(tmp_path: Path) -> None:
    """Before, a line told either, and ACP's modes were lost."""

    def read_both(message: bytes) -> tuple[ModelList | ModeList, ...]:
        modes = (ModeInfo(id="poet", name="Poet", description=""),)
        return (ModeList(modes=modes), *read(message))

    both = msgspec.structs.replace(CATALOGUE, read=read_both, tells_modes=True)
    for told, expected in (('{"models":["m1"]}', ["m1"]), ('{"models":[]}', None)):
        command = stand_in(tmp_path, f"#!/bin/sh\nread asked\necho '{told}'\ncat > /dev/null\n")
        listing = asyncio.run(catalogues()[0].listing(both, command, None))
        assert ids(listing) == expected
        assert listing.modes is not None
        assert [mode.id for mode in listing.modes.modes] == ["poet"]


def test_an_answer_has_its_lifetime(tmp_path: Path) -> None:
    command = stand_in(tmp_path, ANSWERS)

    async def talk() -> list[list[str] | None]:
        asked, _ = catalogues(lifetime_s=0.0)
        return [ids(await asked.listing(CATALOGUE, command, None)) for _ in range(2)]

    assert asyncio.run(talk()) == [["m1"], ["m2"]]


def test_who_asks_at_the_same_time_gets_the_same_answer(tmp_path: Path) -> None:
    command = stand_in(tmp_path, ANSWERS)

    async def talk() -> list[list[str] | None]:
        asked, _ = catalogues()
        asking = (asked.listing(CATALOGUE, command, None, refresh=True) for _ in range(5))
        return [ids(answer) for answer in await asyncio.gather(*asking)]

    assert asyncio.run(talk()) == [["m1"]] * 5


@pytest.mark.parametrize(
    "script",
    [
        "#!/bin/sh\nsleep 1000 & sleep 1000\n",
        "#!/bin/sh\ntrap '' TERM\nwhile true; do sleep 1000; done\n",
        "#!/bin/sh\nread asked\necho '{\"other\":1}'\nexec sleep 1000\n",
    ],
    ids=["hangs", "heeds nothing", "says something else"],
)
def test_one_that_does_not_answer_is_given_up_and_nothing_of_it_is_left(
    script: str, tmp_path: Path
) -> None:
    command = stand_in(tmp_path, script)

    async def talk() -> None:
        asked, mark = catalogues(deadline_s=0.3)
        assert await asked.listing(CATALOGUE, command, None) == Listing()
        assert left(mark) == []

    asyncio.run(talk())


@pytest.mark.parametrize(
    "script",
    [
        "#!/bin/sh\necho sorry >&2\nexit 3\n",
        "#!/bin/sh\nread asked\nprintf 'garbage\\n\\377\\376\\n{\"models\":\\n[[[[\\n'\n",
        "#!/bin/sh\nread asked\necho '{\"models\":[]}'\nexec sleep 1000\n",
        "#!/no/such/interpreter\n",
    ],
    ids=["fails", "garbage", "refuses", "cannot be started"],
)
def test_one_that_cannot_answer_is_not_waited_for(script: str, tmp_path: Path) -> None:
    command = stand_in(tmp_path, script)

    async def talk() -> None:
        asked, mark = catalogues(deadline_s=60.0)
        async with asyncio.timeout(10):
            assert await asked.listing(CATALOGUE, command, None) == Listing()
        assert left(mark) == []

    asyncio.run(talk())


def test_one_that_did_not_answer_is_left_alone_for_a_while(tmp_path: Path) -> None:
    command = stand_in(tmp_path, '#!/bin/sh\necho x >> "$0.asked"\n')

    async def talk() -> None:
        asked, _ = catalogues()
        for _ in range(3):
            assert await asked.listing(CATALOGUE, command, None) == Listing()
        await asked.listing(CATALOGUE, command, None, refresh=True)

    asyncio.run(talk())
    assert (tmp_path / "agent.asked").read_text() == "x\n" * 2


def test_a_daemon_that_stops_leaves_none_that_was_being_asked(tmp_path: Path) -> None:
    begun = tmp_path / "started"
    command = stand_in(tmp_path, f"#!/bin/sh\necho > '{begun}'\nexec sleep 1000\n")

    async def talk() -> None:
        asked, mark = catalogues(deadline_s=60.0)
        asking = asyncio.create_task(asked.listing(CATALOGUE, command, None))
        await asyncio.to_thread(begun.read_bytes)  # a pipe: it has begun
        asked.stop()
        await asked.stopped()
        assert left(mark) == []
        assert await asked.listing(CATALOGUE, command, None) == Listing()
        assert await asking == Listing()

    os.mkfifo(begun)
    asyncio.run(talk())
