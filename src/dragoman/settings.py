"""Settings: one frozen struct from flags, then `DRAGOMAN_*` variables, then a TOML file."""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from dragoman.errors import StartRefused, WrongSetting

LogLevel = Literal["debug", "info", "warning", "error"]
DebugArea = Literal["sandbox"]
HostName = Annotated[
    str, Meta(pattern=r"^(\*|(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?)\Z")
]
Origin = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9+.-]*://[^/*\s]+/*\Z")]
VariableName = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z")]
NoNul = Annotated[str, Meta(pattern=r"^[^\x00]*\Z")]
LOOPBACK = ("127.0.0.1", "::1", "localhost")
LEAST_STORE_BYTES = 10 * 1024 * 1024
"""A smaller database would lose sessions that have hardly begun."""


class AgentSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be set for one agent."""

    adapter: Literal["acp"] | None = None
    """`acp` makes it a new agent, one that speaks the [Agent Client Protocol](agents/acp.md). Needs
    `command`."""
    command: NoNul | tuple[NoNul, ...] | None = None
    """How the agent is started, in place of its own executable: a list of words, or a text that is
    split like a shell does."""
    name: str | None = None
    """How it is called where people see it; only with ACP. By default its id."""
    env: dict[VariableName, NoNul] = {}
    """Variables for its processes, beneath those of a session. Their values are secret."""
    fs: bool = False
    """Offer it to read and write files through the daemon; only with ACP."""
    terminal: bool = False
    """Offer it to run commands through the daemon; only with ACP."""

    @property
    def words(self) -> tuple[str, ...]:
        """The command, as words. Raise ValueError where a text cannot be split."""
        command = self.command or ()
        return tuple(shlex.split(command)) if isinstance(command, str) else command


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set. The docstring of a field is its documentation."""

    host: str = "127.0.0.1"
    """The address to listen on."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 2468
    """The port to listen on; 0 takes a free one."""
    data_dir: str = ""
    """Where everything is kept; `$XDG_DATA_HOME/dragoman` by default."""
    config: str | None = None
    """The settings file; `$XDG_CONFIG_HOME/dragoman/config.toml` by default, if it is there. A file
    cannot name another one."""
    agents_dir: str = ""
    """Where agents are installed; `agents` in the data folder by default."""
    token: str | None = None
    """The token that opens the API. Visible in `ps` as a flag: prefer `token_file`."""
    token_file: str | None = None
    """A file that holds the token; made on first start, `token` in the data folder by default."""
    no_token: bool = False
    """Serve without a token; only on loopback, and not to every `Host`."""
    allow_host: tuple[HostName, ...] = ()
    """Further `Host` headers to accept, `NAME[:PORT]`; `*` accepts all."""
    cors_allow_origin: tuple[Origin, ...] = ()
    """Web origins whose pages may call the API."""
    log_level: LogLevel = "info"
    """How much is logged; a prompt appears at `debug` only."""
    debug: tuple[DebugArea, ...] = ()
    """Parts of the daemon that log everything: `sandbox` logs what happens to files."""
    access_log: Literal["none", "changes", "all"] = "changes"
    """Which requests leave a line in the log: none, all, or those that change something and those
    that are refused. Never their query or their token."""
    open_metrics: bool = False
    """Serve `/metrics` without a token; only on loopback."""
    synchronous: Literal["normal", "full"] = "normal"
    """What a commit survives: `normal` the daemon's death, `full` also a power cut."""
    max_body_bytes: Annotated[int, Meta(ge=1024)] = 10 * 1024 * 1024
    """The largest request body."""
    max_header_bytes: Annotated[int, Meta(ge=1024)] = 32 * 1024
    """How large the target and headers of a request may be together."""
    header_timeout_s: Annotated[float, Meta(gt=0)] = 10.0
    """How long the headers of a request may take to come, in seconds."""
    body_timeout_s: Annotated[float, Meta(gt=0)] = 30.0
    """A request's body of which nothing comes for so long is given up, in seconds."""
    idle_timeout_s: Annotated[float, Meta(gt=0)] = 60.0
    """A connection on which nothing is asked for so long is closed, in seconds."""
    max_connections: Annotated[int, Meta(ge=0)] = 0
    """So many connections may be open; 0: three quarters of the files the daemon may open."""
    max_streams: Annotated[int, Meta(ge=0)] = 0
    """So many streams may be followed at once; 0: nine tenths of the connections."""
    roots: tuple[str, ...] = ()
    """The folders that sessions and the file API stay in. By default the file API stays in your
    home, and sessions, but for an admin's, there or in the folder for temporary files. With a
    session's id the file API stays in that session's directory."""
    max_upload_bytes: Annotated[int, Meta(ge=1024)] = 1024 * 1024 * 1024
    """The largest file that can be uploaded, and the largest archive, packed and unpacked."""
    max_archive_entries: Annotated[int, Meta(ge=1)] = 100_000
    """So many files, folders and links an uploaded archive may hold."""
    max_archive_ratio: Annotated[int, Meta(ge=1)] = 100
    """So many times its own size a compressed archive may unpack to."""
    max_line_bytes: Annotated[int, Meta(ge=1024)] = 16 * 1024 * 1024
    """The largest message of an agent that is decoded; a larger one is hashed and dropped."""
    heartbeat_s: Annotated[float, Meta(gt=0)] = 10.0
    """A silent stream gets a comment this often, in seconds."""
    stalled_reader_s: Annotated[float, Meta(gt=0)] = 60.0
    """A reader that takes no byte for so long is disconnected; it resumes from the store."""
    stop_deadline_s: Annotated[float, Meta(gt=0)] = 3.0
    """How long an agent's process may take to end before it is killed, in seconds."""
    send_deadline_s: Annotated[float, Meta(gt=0)] = 10.0
    """How long an agent may leave its input unread before its turn fails, in seconds."""
    stdout_deadline_s: Annotated[float, Meta(gt=0)] = 5.0
    """How long an agent may live on after it has closed its output before its process is ended and
    its turn fails, in seconds."""
    previews: bool = True
    """Show a session that has no title by the first words of its first message."""
    redact: bool = True
    """Take [secrets](security.md#secrets) out of events, native messages and stderr before they are
    kept: values of an agent's and a session's `env`, and of MCP servers, API keys in the daemon's
    environment, and our tokens."""
    redact_names: tuple[VariableName, ...] = ()
    """Further variables of the daemon's environment whose values are secret."""
    max_stderr_bytes: Annotated[int, Meta(ge=1024)] = 10 * 1024 * 1024
    """How much of what a session's agent writes to stderr is kept in its file: the beginning, and
    the latest."""
    file_events: bool = True
    """Tell what happens to the files in a session's directory, and what each turn has changed; a
    session may say otherwise (`fileEvents`)."""
    file_events_ignore: tuple[str, ...] = ()
    """Files and folders that no session tells of, beside `.git` and `node_modules`: names, or paths
    from the directory on; `*` stands for anything."""
    file_events_gitignore: bool = False
    """Tell nothing of files that git ignores."""
    file_events_diff: bool = False
    """Tell the diff of each file that changes, as soon as it does."""
    max_diff_bytes: Annotated[int, Meta(ge=1024)] = 1024 * 1024
    """How large the diff of a turn or a session may be; files that have no room are named."""
    diff_deadline_s: Annotated[float, Meta(gt=0)] = 5.0
    """How long the end of a turn may wait for its diff, in seconds."""
    interrupt_deadline_s: Annotated[float, Meta(gt=0)] = 5.0
    """How long an agent may take to heed an interrupt before its process is ended, in seconds."""
    turn_timeout_s: Annotated[float, Meta(ge=0)] = 0.0
    """A turn that takes longer is interrupted, in seconds; 0: it may take as long as it likes."""
    loop_limit: Annotated[int, Meta(ge=0)] = 20
    """A turn in which the model answers more often than this in a row, without calling a tool, is
    stopped and fails with the code `loop`; 0: never. A turn ends with such an answer, unless the
    agent does not see that the model's stream broke off, and asks again without end."""
    idle_process_s: Annotated[float, Meta(ge=0)] = 0.0
    """An agent's process that does nothing for so long is ended, in seconds; 0: it stays."""
    hitl_timeout_s: Annotated[float, Meta(ge=0)] = 0.0
    """How long a permission or question waits for a person, in seconds; 0: for ever."""
    hitl_on_timeout: Literal["reject", "wait"] = "reject"
    """What happens then: `reject` answers no, `wait` goes on waiting and says so in the log."""
    max_sessions: Annotated[int, Meta(ge=0)] = 0
    """So many sessions may be there that have not ended; 0: any number."""
    max_processes: Annotated[int, Meta(ge=0)] = 0
    """So many sessions may run a process at once; an idle process makes room. 0: any number."""
    max_turns: Annotated[int, Meta(ge=0)] = 0
    """So many turns may run at once; 0: any number."""
    max_queued: Annotated[int, Meta(ge=0)] = 1000
    """So many messages may wait in one session; 0: any number."""
    max_queued_bytes: Annotated[int, Meta(ge=0)] = 16 * 1024 * 1024
    """So large may all messages be that wait in one session; 0: any size. One alone may always
    wait."""
    webhook_timeout_s: Annotated[float, Meta(gt=0)] = 10.0
    """How long a receiver of [webhooks](webhooks.md) may take to answer, in seconds."""
    webhook_retry_s: Annotated[float, Meta(gt=0)] = 1.0
    """How long the first retry of a webhook waits at most, in seconds; each later one waits twice
    as long as the one before."""
    webhook_max_retry_s: Annotated[float, Meta(gt=0)] = 300.0
    """The longest wait between two retries of a webhook, in seconds."""
    retain_days: Annotated[float, Meta(ge=0)] = 0.0
    """A session in which nothing has happened for so many days is deleted; 0: it stays."""
    max_store_bytes: Annotated[int, Meta(ge=0)] = 0
    """A database that grows larger loses sessions in which nothing happens, ended ones first; 10
    MiB (10485760) or more. 0: it may grow."""
    agents: dict[str, AgentSettings] = {}
    """One table for each agent, `[agents.<id>]`; see [below](#agents)."""


_LISTS = {
    "allow_host",
    "cors_allow_origin",
    "debug",
    "file_events_ignore",
    "redact_names",
    "roots",
}
_NOT_SETTINGS = {"DRAGOMAN_CONFIG"}
_WORDS = {
    HostName: "NAME[:PORT], or *",
    Origin: "the origin of a page, e.g. http://localhost:5173",
    VariableName: "the name of a variable: letters, digits and _",
}
"""What a value may be, where its type does not say so."""
_AGENT_WORDS = {
    "adapter": '"acp"',
    "command": "a text, or a list of words",
    "name": "a text",
    "env": "a table of texts, by the names of variables",
    "fs": "true or false",
    "terminal": "true or false",
}


def load(
    flags: Mapping[str, Any], environ: Mapping[str, str], config: str | None = None
) -> Settings:
    """Merge flags over variables over the file. Raise StartRefused, WrongSetting."""
    merged: dict[str, Any] = _from_file(config or environ.get("DRAGOMAN_CONFIG"), environ)
    sources = {name: f"{name} in {merged['config']}" for name in merged}
    _ensure(merged, sources)  # before anything is laid over it: what lies below may have any shape
    given = {name: value for name, value in flags.items() if value not in (None, (), [])}
    for above, named in ((_from_environ(environ), _variable), (given, _flag)):
        if "no_token" not in above and above.keys() & {"token", "token_file"}:
            merged["no_token"] = False  # a token that is given is meant to be asked for
        _overlay(merged, above)
        sources |= {name: named(name) for name in above}
    if not merged.get("data_dir"):
        merged["data_dir"] = str(default_data_dir(environ))
    merged["data_dir"] = str(Path(merged["data_dir"]).expanduser().absolute())
    agents_dir = Path(merged.get("agents_dir") or Path(merged["data_dir"]) / "agents")
    merged["agents_dir"] = str(agents_dir.expanduser().absolute())
    merged["roots"] = [str(Path(it).expanduser().absolute()) for it in merged.get("roots") or ()]
    settings = _ensure(merged, sources)
    for agent, table in settings.agents.items():
        _ensure_command(agent, table)
    if settings.no_token and settings.host not in LOOPBACK:
        raise StartRefused(
            f"--no-token is refused on {settings.host}: anyone who reaches this port could run "
            "code as you; drop --no-token, or bind to 127.0.0.1"
        )
    if settings.no_token and "*" in settings.allow_host:
        raise StartRefused(
            "--no-token is refused with --allow-host '*': any web page could lead a name of its "
            "own to this machine and run code as you; drop --no-token, or name each host with "
            "--allow-host"
        )
    if 0 < settings.max_store_bytes < LEAST_STORE_BYTES:
        raise WrongSetting(
            f"{sources['max_store_bytes']} is {settings.max_store_bytes}, and so small a store "
            f"would lose its sessions at once; set {LEAST_STORE_BYTES} or more, or 0 for no limit"
        )
    if settings.open_metrics and settings.host not in LOOPBACK:
        raise StartRefused(
            f"open_metrics is refused on {settings.host}: anyone who reaches this port could see "
            "what runs here; give the scraper a token with the scope read"
        )
    return settings


def _ensure(given: Mapping[str, Any], sources: Mapping[str, str]) -> Settings:
    try:
        return msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError:
        for name, source in sources.items():
            _ensure_one(name, given[name], source)
        raise


def _ensure_one(name: str, value: Any, source: str) -> None:
    """Raise WrongSetting, in words for a person."""
    if name not in Settings.__struct_fields__:
        raise WrongSetting(f"{source} is no setting; remove it, or correct its name")
    if _fits(name, value):
        return
    if name == "agents" and isinstance(value, dict):
        _ensure_tables(value, source)
    is_list = isinstance(value, list | tuple)
    wrong = next((each for each in value if not _fits(name, [each])), value) if is_list else value
    shown = "this" if name == "token" else repr(wrong)
    right = _right(get_type_hints(Settings, include_extras=True)[name], is_list)
    raise WrongSetting(f"{source} cannot be {shown}; right is {right}")


def _ensure_tables(tables: Mapping[str, Any], source: str) -> None:
    """Raise WrongSetting for the first key that is wrong. Values of `env` are never shown."""
    hints = get_type_hints(AgentSettings, include_extras=True)
    for agent, table in tables.items():
        if not isinstance(table, dict):
            continue
        for key, value in table.items():
            where = f"{source.replace('agents', f'agents.{agent}.{key}', 1)}"
            if key not in hints:
                known = ", ".join(hints)
                raise WrongSetting(f"{where} is no setting of an agent; known: {known}")
            if not _fits("agents", {agent: {key: value}}):
                shown = "this" if key == "env" else repr(value)
                raise WrongSetting(f"{where} cannot be {shown}; right is {_AGENT_WORDS[key]}")


def _fits(name: str, value: Any) -> bool:
    try:
        msgspec.convert({name: value}, Settings, strict=False)
    except msgspec.ValidationError:
        return False
    return True


def _right(hint: Any, is_list: bool) -> str:
    """What a value of a type may be, for a person."""
    base, *rest = get_args(hint) or (hint,)
    if hint in _WORDS:
        return _WORDS[hint]
    if get_origin(hint) is Literal:
        return f"{', '.join(get_args(hint)[:-1])} or {rest[-1]}"
    if get_origin(hint) is tuple:
        return _right(base, is_list) if is_list else "a list"
    if get_origin(hint) is dict:
        return "a table for each agent, with `command`"
    if base in (int, float):
        return f"{'a whole number' if base is int else 'a number'} {_range(rest[0])}"
    return "true or false" if base is bool else "a text"


def _range(meta: Meta) -> str:
    if meta.gt is not None:
        return f"above {meta.gt}"
    return f"from {meta.ge} on" if meta.le is None else f"from {meta.ge} to {meta.le}"


def _variable(name: str) -> str:
    return f"DRAGOMAN_{name.upper()}"


def _flag(name: str) -> str:
    return "--root" if name == "roots" else f"--{name.replace('_', '-')}"


def _ensure_command(agent: str, table: AgentSettings) -> None:
    try:
        words = table.words
    except ValueError as error:
        raise WrongSetting(
            f"the command of agent {agent!r} cannot be split as a shell would: {error}"
        ) from None
    if table.command is not None and not isinstance(table.command, str) and not any(words[:1]):
        raise WrongSetting(f"the command of agent {agent!r} is empty; its first word is a program")


def default_data_dir(environ: Mapping[str, str]) -> Path:
    """Where the data lies unless it is set."""
    home = Path(environ.get("HOME") or Path.home())
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "dragoman"


def default_config(environ: Mapping[str, str]) -> Path:
    """The settings file that is read if it exists."""
    home = Path(environ.get("HOME") or Path.home())
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "dragoman" / "config.toml"


def _from_file(config: str | None, environ: Mapping[str, str]) -> dict[str, Any]:
    path = Path(config) if config else default_config(environ)
    if not config and not path.exists():
        return {}
    try:
        found = tomllib.loads(path.read_text())
    except OSError as error:
        raise StartRefused(f"cannot read the settings file {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StartRefused(f"{path} is not valid TOML: {error}") from None
    if "config" in found:
        raise StartRefused(f"the settings file {path} cannot name another one; remove `config`")
    return {**found, "config": str(path.absolute())}


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    agents: dict[str, dict[str, str]] = {}
    for name, value in environ.items():
        if not name.startswith("DRAGOMAN_") or name in _NOT_SETTINGS:
            continue
        field = name.removeprefix("DRAGOMAN_").lower()
        if field.endswith("_command"):
            agents[field.removesuffix("_command")] = {"command": value}
        elif field in Settings.__struct_fields__ and field != "agents":
            parts = [part.strip() for part in value.split(",")]
            found[field] = [part for part in parts if part] if field in _LISTS else value
    if agents:
        found["agents"] = agents
    return found


def _overlay(below: dict[str, Any], above: Mapping[str, Any]) -> None:
    for name, value in above.items():
        if name == "agents":
            tables = below.setdefault("agents", {})
            for agent, table in value.items():
                # A variable cannot spell a dash.
                same = [
                    each for each in tables if command_variable(each) == command_variable(agent)
                ]
                key = same[0] if same else agent
                tables[key] = {**tables.get(key, {}), **table}
        else:
            below[name] = value


def command_variable(agent: str) -> str:
    """The variable that replaces an agent's command."""
    return f"DRAGOMAN_{agent.upper().replace('-', '_')}_COMMAND"


def child_environ(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment agents inherit: the daemon's, minus everything that is Dragoman's."""
    source = os.environ if environ is None else environ
    return {name: value for name, value in source.items() if not name.startswith("DRAGOMAN_")}
