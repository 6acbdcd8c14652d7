"""The page: its files, how they are kept by browsers, and where it was not built."""

from __future__ import annotations

import gzip
import re

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from dragoman.errors import NotFound
from dragoman.http.ui import built_page, page_routes
from tests.cases.wire import host, raw
from tests.daemon import Daemon


def test_everything_that_the_page_names_is_there_without_a_token(daemon: Daemon) -> None:
    page = raw(daemon, "/ui/", host(daemon))
    assert page.status == 200
    named = re.findall(r'(?:src|href)="\./([^"]+)"', page.body.decode())
    assert {name.rpartition(".")[2] for name in named} == {"js", "css", "svg"}, "make web builds it"
    for name in named:
        answer = raw(daemon, f"/ui/{name}", host(daemon))
        assert answer.status == 200
        assert answer.header("x-content-type-options") == "nosniff"
        assert ("immutable" in (answer.header("cache-control") or "")) == name.startswith("assets/")


@pytest.mark.parametrize("name", ["", "index.html"])
def test_nothing_but_its_own_files_runs_in_the_page(daemon: Daemon, name: str) -> None:
    page = raw(daemon, f"/ui/{name}", host(daemon))
    assert page.header("content-type") == "text/html; charset=utf-8"
    assert page.header("cache-control") == "no-cache"
    policy = page.header("content-security-policy") or ""
    assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(rb"<script(?![^>]*src=)", page.body)


def test_the_page_has_no_other_files(daemon: Daemon) -> None:
    for name in ("nothing", "../door.py", "%2e%2e/door.py", "..%2fdoor.py", "assets/", "assets"):
        answer = raw(daemon, f"/ui/{name}", host(daemon))
        assert answer.status in (400, 404)
        assert answer.problem


PAGE = {"assets/a.js": b"long", "assets/a.js.gz": gzip.compress(b"long"), "icon.svg": b"<svg/>"}


@pytest.mark.parametrize(
    ("accepted", "gzipped"),
    [
        ("gzip, deflate, br", True), ("br;q=1.0, GZIP; q=0.5", True), ("identity", False),
        ("gzip;q=0", False), ("gzip; q=0.00", False), ("xgzip", False), ("", False),
    ],
)  # fmt: skip
def test_a_file_is_sent_gzipped_to_who_takes_it(accepted: str, gzipped: bool) -> None:
    client = TestClient(Starlette(routes=page_routes(PAGE)))
    answer = client.get("/ui/assets/a.js", headers={"Accept-Encoding": accepted})
    assert answer.headers.get("content-encoding") == ("gzip" if gzipped else None)
    assert answer.headers["vary"] == "Accept-Encoding"
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.text == "long"


def test_what_was_not_gzipped_is_sent_as_it_is() -> None:
    client = TestClient(Starlette(routes=page_routes(PAGE)))
    answer = client.get("/ui/icon.svg", headers={"Accept-Encoding": "gzip"})
    assert (answer.text, "content-encoding" in answer.headers) == ("<svg/>", False)


def test_the_built_page_has_all_of_its_files_gzipped_too() -> None:
    page = built_page()
    plain = {name for name in page if not name.endswith(".gz")}
    assert plain, "make web builds it"
    assert {name: gzip.decompress(page[f"{name}.gz"]) for name in plain} == {
        name: page[name] for name in plain
    }
    with pytest.raises(NotFound):
        TestClient(Starlette(routes=page_routes(page))).get("/ui/index.html.gz")


def test_the_page_is_found_without_its_slash(daemon: Daemon) -> None:
    answer = raw(daemon, "/ui?ticket=x", host(daemon))
    assert (answer.status, answer.header("location")) == (307, "ui/?ticket=x")


def test_the_address_of_a_session_leads_to_it(daemon: Daemon) -> None:
    """Before, what programs for an earlier API print led nowhere."""
    answer = raw(daemon, "/ui/sessions/my.session-1?ticket=x", host(daemon))
    assert answer.status == 307
    assert answer.header("location") == "../?ticket=x#/sessions/my.session-1"
    assert raw(daemon, "/ui/sessions/%0d%0aSet-Cookie:x", host(daemon)).status == 400


def test_a_page_that_was_not_built_says_how_to_build_it() -> None:
    answer = TestClient(Starlette(routes=page_routes({}))).get("/ui/")
    assert answer.status_code == 200
    assert "make web" in answer.text
