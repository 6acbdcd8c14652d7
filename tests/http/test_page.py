"""The page: its files, how they are kept by browsers, and where it was not built."""

from __future__ import annotations

import re

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from dragoman.http.ui import page_routes
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


def test_the_page_is_found_without_its_slash(daemon: Daemon) -> None:
    answer = raw(daemon, "/ui?ticket=x", host(daemon))
    assert (answer.status, answer.header("location")) == (307, "ui/?ticket=x")


def test_a_page_that_was_not_built_says_how_to_build_it() -> None:
    answer = TestClient(Starlette(routes=page_routes({}))).get("/ui/")
    assert answer.status_code == 200
    assert "make web" in answer.text
