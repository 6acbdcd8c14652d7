"""`opencode acp`, as the scenarios of all agents need it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from dragoman.agents.opencode import probes
from tests.agents.acp_agents import known_adapter
from tests.agents.chat_api import images_of
from tests.agents.live import Block, Live, LiveAgent


class OpenCodeAcpAgent(LiveAgent):
    """One process for each session, which keeps its conversation in the home."""

    adapter = known_adapter("opencode-acp")
    models = (probes.MODEL, probes.SMALL)
    unknown_session = "ses_000000000000ffeUnknownXXXX"
    error_codes = {400: "api_error"}  # noqa: RUF012
    asks_under_bypass = True
    ends_refused_turn = True
    plays = frozenset(
        (
            "text_streams_word_by_word",
            "a_thought_comes_before_its_answer",
            "a_message_before_and_after_a_tool_are_two",
            "commands_side_by_side_have_a_result_each",
            "a_command_is_allowed_once",
            "a_command_is_refused_and_the_turn_goes_on",
            "bypass_asks_for_nothing",
            "interrupt_while_streaming",
            "interrupt_in_a_command",
            "interrupt_while_asking_for_permission",
            "a_session_goes_on_after_its_idle_process_was_killed",
            "a_conversation_that_vanished_ends_the_session",
            "an_id_that_the_agent_does_not_know_ends_the_session",
            "a_fork_leaves_the_old_session_as_it_is",
            "the_model_of_a_running_session",
            "the_effort_of_a_running_session",
            "to_accept_edits_in_a_running_session",
            "an_error_of_the_api_fails_the_turn",
            "an_image_and_a_file_reach_the_model",
            "every_turn_has_its_own_usage",
        )
    )
    often = frozenset(
        (
            "commands_side_by_side_have_a_result_each",
            "a_command_is_allowed_once",
            "interrupt_in_a_command",
            "a_session_goes_on_after_its_idle_process_was_killed",
            "a_fork_leaves_the_old_session_as_it_is",
            "the_effort_of_a_running_session",
        )
    )

    def environ(self, url: str, home: Path) -> dict[str, str]:
        for path, content in probes.files(url).items():
            (home / path).write_text(content)
        return probes.environ(url, str(home))

    def shell(self, command: str) -> Block:
        return dict(probes.run(command))

    def write(self, path: str, content: str) -> Block:
        return dict(probes.write(path, content))

    def model_of(self, body: Any) -> str:
        return f"scripted/{body['model']}"

    def effort_of(self, body: Any) -> Any:
        return body["reasoning_effort"]

    def images_of(self, body: Any) -> list[tuple[str, bytes]]:
        return images_of(body)

    def forget(self, live: Live) -> None:
        shutil.rmtree(live.home / ".local" / "share" / "opencode")


OPENCODE_ACP = OpenCodeAcpAgent()
