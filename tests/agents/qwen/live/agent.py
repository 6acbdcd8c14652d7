"""The real Qwen Code, as the scenarios of all agents need it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from dragoman.agents.acp import qwen
from tests.agents.acp_agents import known_adapter
from tests.agents.chat_api import images_of
from tests.agents.live import Block, Live, LiveAgent


class QwenAgent(LiveAgent):
    """One process for each session, which keeps its conversation in the home."""

    adapter = known_adapter("qwen")
    models = qwen.MODELS
    unknown_session = "00000000-0000-4000-8000-000000000000"
    error_codes = {400: "http_400", 401: "http_401", 404: "http_404"}  # noqa: RUF012
    asks_under_bypass = True
    ends_refused_turn = True
    plays = frozenset(
        (
            "text_streams_word_by_word",
            "a_thought_comes_before_its_answer",
            "every_character_survives",
            "a_message_before_and_after_a_tool_are_two",
            "commands_side_by_side_have_a_result_each",
            "a_session_works_in_its_directory",
            "a_command_is_allowed_once",
            "a_command_is_refused_and_the_turn_goes_on",
            "always_still_holds_for_the_next_process",
            "to_accept_edits_in_a_running_session",
            "bypass_asks_for_nothing",
            "a_question_is_asked_and_answered",
            "several_questions_are_asked_at_once",
            "a_question_is_not_answered",
            "interrupt_while_streaming",
            "interrupt_in_a_command",
            "interrupt_while_asking_for_permission",
            "interrupt_while_a_question_is_open",
            "interrupt_right_after_sending",
            "a_message_sent_while_streaming_waits_for_the_next_turn",
            "a_session_goes_on_after_its_idle_process_was_killed",
            "a_process_that_dies_in_a_turn_fails_it",
            "an_id_that_the_agent_does_not_know_ends_the_session",
            "a_conversation_that_vanished_ends_the_session",
            "an_ended_session_goes_on_in_another",
            "a_session_begins_with_its_model_and_effort",
            "the_model_of_a_running_session",
            "the_effort_of_a_running_session",
            "bypass_is_left_again_in_a_running_session",
            "an_error_of_the_api_fails_the_turn",
            "a_file_alone_is_enough",
            "every_turn_has_its_own_usage",
            "all_requests_of_a_turn_count",
            "the_agent_tells_its_models",
            "terminate_in_a_command_runs_no_further_one",
        )
    )
    often = frozenset(
        (
            "a_thought_comes_before_its_answer",
            "commands_side_by_side_have_a_result_each",
            "a_command_is_allowed_once",
            "several_questions_are_asked_at_once",
            "interrupt_while_asking_for_permission",
            "a_process_that_dies_in_a_turn_fails_it",
            "an_ended_session_goes_on_in_another",
            "the_model_of_a_running_session",
            "an_error_of_the_api_fails_the_turn",
            "every_turn_has_its_own_usage",
        )
    )

    def environ(self, url: str, home: Path) -> dict[str, str]:
        for name, text in qwen.files(url).items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
        return qwen.environ(url, str(home))

    def shell(self, command: str) -> Block:
        return dict(qwen.run(command))

    def write(self, path: str, content: str) -> Block:
        return dict(qwen.write(path, content))

    def question(self, id: str, text: str, *options: str) -> Block:
        choices = [{"label": label, "description": f"It is {label}."} for label in options]
        return {"question": text, "header": id.capitalize(), "options": choices}

    def ask(self, *questions: Block) -> Block:
        return {"tool": "ask_user_question", "input": {"questions": list(questions)}}

    def model_of(self, body: Any) -> str:
        return f"{body['model']}(openai)"

    def effort_of(self, body: Any) -> Any:
        return body["reasoning"]["effort"]

    def images_of(self, body: Any) -> list[tuple[str, bytes]]:
        return images_of(body)

    def forget(self, live: Live) -> None:
        shutil.rmtree(live.home / ".qwen" / "projects")


QWEN = QwenAgent()
