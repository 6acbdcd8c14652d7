"""From a process that has just started to a session that takes messages."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from dragoman.adapter import Spec
from dragoman.dialects.acp import launch, native, notices
from dragoman.dialects.acp.notices import Notices
from dragoman.dialects.acp.profile import Extension, Profile
from dragoman.dialects.acp.settings import SessionSettings, Switch
from dragoman.dialects.acp.state import Conversation, Phase, Trigger
from dragoman.steps import Delivered, EndSession, EndTurn, Report, Step, Update
from dragoman.wire.jsonrpc import Reply, Result

MAX_PAGES = 100
"""How long a list of sessions is read."""
NOT_RESUMED = "the agent keeps no sessions: it knows nothing of what was said before"


class SessionOpening:
    """Greets a process, logs in, opens a session and gives it the settings that people want."""

    def __init__(
        self,
        spec: Spec,
        profile: Profile,
        state: Conversation,
        settings: SessionSettings,
        notices: Notices,
        extension: Extension,
    ) -> None:
        self._extension = extension
        self._profile = profile
        self._state = state
        self._settings = settings
        self._notices = notices
        self._spec = spec
        self._switch: Switch | None = None
        """The setting that is on its way."""
        self._failure: Reply | None = None
        """Why the session was not opened, while the agent is asked whether it has it."""
        self._page_count = 0

    @property
    def is_switching(self) -> bool:
        """Whether a setting is on its way."""
        return self._switch is not None

    def greet(self, spec: Spec) -> Iterator[Step]:
        """A process has started; `spec` is what is wanted by now."""
        self._spec = spec
        self._settings.restart(spec)
        self._state.trigger(Trigger.GREET)
        yield launch.initialize(self._profile)

    def reset(self) -> None:
        """The process is gone."""
        self._switch = self._failure = None

    def on_reply(self, tag: str, reply: Reply) -> Iterator[Step]:
        """What became of a request on the way."""
        match tag:
            case "initialize" if isinstance(reply, Result):
                yield from self._on_greeted(native.result_of(reply, native.InitializeResult))
            case "authenticate" if isinstance(reply, Result):
                self._state.trigger(Trigger.LOGGED_IN)
                yield from self._ask_for_session()
            case "open" if isinstance(reply, Result):
                yield from self._on_open(native.result_of(reply, native.SessionResult))
            case "open":
                yield from self._on_not_open(reply)
            case "list":
                yield from self._on_list(reply)
            case "switch":
                yield from self._on_switch(reply)
            case "initialize" | "authenticate":
                yield from self._refused(self._login_report(reply))

    def _on_greeted(self, agent: native.InitializeResult) -> Iterator[Step]:
        self._state.agent = _amended(agent, self._profile)
        self._state.trigger(Trigger.GREETED)
        if agent.protocol_version != native.PROTOCOL_VERSION:
            version = agent.protocol_version
            yield from self._refused(
                Report(
                    message=f"{self._profile.name} speaks version {version} of ACP; known is "
                    f"{native.PROTOCOL_VERSION}",
                    code="protocol_version",
                )
            )
            return
        yield from self._ask_for_session()

    def open_again(self) -> Iterator[Step]:
        """Ask once more for what was refused, now that there is a message for it."""
        if self._state.phase is Phase.CLOSED and self._state.agent is not None:
            self._state.tried_logins.clear()
            self._state.trigger(Trigger.ASK)
            yield from self._ask_for_session()

    def _ask_for_session(self) -> Iterator[Step]:
        state = self._state
        method = state.open_method()
        if method is None and state.fork:
            yield from self._end_session(
                f"{self._profile.name} cannot fork a session", "fork_unsupported"
            )
            return
        if method is None:
            yield from self._notices.status("not resumed", NOT_RESUMED, status="failed")
            state.resume_id, method = None, "session/new"
        servers, refused = launch.mcp_servers(self._spec, state.capabilities.mcp_capabilities)
        for name, why in refused.items():
            yield from self._notices.status("mcp_server", f"{name}: {why}", status="failed")
        session_id = state.resume_id
        yield launch.open_session(method, self._spec, self._profile, session_id, servers)

    def _on_open(self, result: native.SessionResult) -> Iterator[Step]:
        yield from self._state.opened(result.session_id)
        self._state.trigger(Trigger.OPENED)
        self._extension.opened(result)
        yield Update(body=self._settings.on_open(result))
        if self._settings.permission != self._spec.permission_mode:
            yield from self.set_permission()
        yield from self.next_switch()

    def set_permission(self) -> Iterator[Step]:
        """Tell a session that is open of its permission mode."""
        if (session_id := self._state.session_id) is not None:
            yield from self._extension.permission(self._settings.permission, session_id)

    def _on_not_open(self, reply: Reply) -> Iterator[Step]:
        state = self._state
        if notices.is_login_wanted(reply):
            yield from self._log_in(reply)
        elif state.resume_id is not None and notices.is_unknown_session(reply):
            yield from self._on_unknown(notices.error_message(reply))
        elif (
            state.resume_id is not None and state.capabilities.session_capabilities.list is not None
        ):
            # Some only say that they failed (OpenCode 1.18.33).
            self._failure, self._page_count = reply, 0
            yield launch.list_sessions(self._spec, None)
        else:
            yield from self._refused(notices.failure(reply))

    def _on_unknown(self, why: str) -> Iterator[Step]:
        """The agent has no such session; one that it never stored is begun anew."""
        state = self._state
        if state.is_tentative:
            state.forget_tentative()
            yield from self._ask_for_session()
            return
        name, id = self._profile.name, state.resume_id
        message = why if id and id in why else f"{name} has no session {id}: {why}"
        yield from self._end_session(message, "session_not_found")

    def _on_list(self, reply: Reply) -> Iterator[Step]:
        """Whether the session that could not be opened is there; a long list comes in pages."""
        failure, page = self._failure, native.KnownSessions()
        if failure is None:
            return
        if isinstance(reply, Result):
            page = native.result_of(reply, native.KnownSessions)
        is_there = any(each.session_id == self._state.resume_id for each in page.sessions)
        self._page_count += 1
        is_more = page.next_cursor is not None and self._page_count < MAX_PAGES
        if isinstance(reply, Result) and not is_there and is_more:
            yield launch.list_sessions(self._spec, page.next_cursor)
            return
        self._failure = None
        if isinstance(reply, Result) and not is_there:
            yield from self._on_unknown(notices.error_message(failure))
        else:
            yield from self._refused(notices.failure(failure))

    def _log_in(self, reply: Reply) -> Iterator[Step]:
        """Try what needs no person, once for each process."""
        methods = () if self._state.agent is None else self._state.agent.auth_methods
        method = _login_of(self._profile, methods, self._state.tried_logins)
        if method is None:
            yield from self._refused(notices.login_wanted(self._profile.name, methods, reply))
            return
        self._state.tried_logins.add(method)
        self._state.trigger(Trigger.LOG_IN)
        yield launch.authenticate(method)

    def _login_report(self, reply: Reply) -> Report:
        methods = () if self._state.agent is None else self._state.agent.auth_methods
        if self._state.phase is Phase.LOGGING_IN:
            return notices.login_wanted(self._profile.name, methods, reply)
        return notices.failure(reply)

    def _refused(self, report: Report) -> Iterator[Step]:
        """There is no session: messages that wait for it fail, and the next one tries again."""
        self._state.trigger(Trigger.REFUSED)
        prompts = self._state.take_queue()
        for prompt in prompts:
            yield Delivered(message_id=prompt.message_id)
        yield report
        if prompts:
            yield EndTurn(outcome="failed")

    def _end_session(self, message: str, code: str) -> Iterator[Step]:
        """The conversation cannot go on, now or ever."""
        yield from self._refused(Report(message=message, code=code))
        yield EndSession(reason="error", message=message)

    # --- Settings ---

    def next_switch(self) -> Iterator[Step]:
        """Bring the settings to what is wanted, one by one; then messages can be sent."""
        session_id = self._state.session_id
        if self._switch is not None or session_id is None:
            return
        following = self._settings.next_switch(session_id)
        if following is not None:
            self._switch, request = following
            yield request
            return
        self._state.trigger(Trigger.SET)

    def _on_switch(self, reply: Reply) -> Iterator[Step]:
        switch, self._switch = self._switch, None
        if switch is None:
            return
        if isinstance(reply, Result):
            options = native.result_of(reply, native.SessionResult).config_options
            yield Update(body=self._settings.on_switched(switch, options))
        else:
            self._settings.on_refused(switch)
            why = notices.error_message(reply)
            detail = f"{switch.field} {switch.value!r}: {why}"
            yield Report(message=f"{self._profile.name} did not take the {detail}", code="refused")
            yield Update(body=self._settings.current())
        yield from self.next_switch()


def _amended(agent: native.InitializeResult, profile: Profile) -> native.InitializeResult:
    """What an agent is, where we know better than it says."""
    if not profile.takes_images:
        return agent
    features = agent.agent_capabilities
    prompts = replace(features.prompt_capabilities, image=True)
    return replace(agent, agent_capabilities=replace(features, prompt_capabilities=prompts))


def _login_of(
    profile: Profile, methods: tuple[native.AuthMethod, ...], tried: set[str]
) -> str | None:
    """A way to log in that needs no person: the one that is set, or one by a key."""
    by_key = (each.id for each in methods if each.type == "env_var" or "api" in each.id.lower())
    wanted = (profile.auth_method,) if profile.auth_method else tuple(by_key)
    return next((each for each in wanted if each not in tried), None)
