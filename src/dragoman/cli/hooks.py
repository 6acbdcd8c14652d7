"""`dragoman hooks`: where events are sent, and how that goes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli import table
from dragoman.cli.connect import AsJson, DataDir, Url, daemon, say
from dragoman.cli.durations import ago
from dragoman.cli.exit_codes import ERROR
from dragoman.cli.sanitize import line

if TYPE_CHECKING:
    from dragoman.schema.webhooks import WebhookInfo

HEADS = ("ID", "STATE", "PENDING", "DELIVERED", "TYPES", "URL")
DEFAULT_TYPES = "all but item.delta"
ERROR_WIDTH = 300

Hook = Annotated[str, typer.Argument(metavar="HOOK", help="The webhook's id.")]

app = typer.Typer(help="Send events to a URL, signed and in order.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def hooks(
    context: typer.Context, url: Url = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Send events to a URL, signed and in order."""
    if context.invoked_subcommand is None:
        show(url=url, data_dir=data_dir, as_json=as_json)


@app.command("list")
def show(url: Url = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the webhooks, and how each does."""
    with daemon(url, data_dir, as_json) as client:
        found = client.webhooks()
    if as_json:
        say(found)
        return
    if not found.webhooks:
        typer.echo("no webhooks")
        return
    now_ms = int(time.time() * 1000)
    table.show(HEADS, [_row(each, now_ms) for each in found.webhooks])
    for each in found.webhooks:
        if each.last_error:
            typer.echo(trouble(each, now_ms), err=True)


def _row(hook: WebhookInfo, now_ms: int) -> tuple[str, ...]:
    return (
        hook.id,
        _state(hook),
        f"{hook.pending}{'+' if hook.more_pending else ''}",
        f"{ago(hook.last_delivery_at, now_ms)} ago" if hook.last_delivery_at else "never",
        ",".join(hook.types) or DEFAULT_TYPES,
        hook.url,
    )


def _state(hook: WebhookInfo) -> str:
    if not hook.enabled:
        return "disabled"
    return "failing" if hook.attempts else "delivering"


def trouble(hook: WebhookInfo, now_ms: int) -> str:
    """What is wrong with a webhook, since when, and what is done about it."""
    told = f"{hook.id}: {line(hook.last_error or '', ERROR_WIDTH)}"
    if hook.enabled and hook.failing_since:
        told += f"; for {ago(hook.failing_since, now_ms)}, tried {hook.attempts} times"
    if hook.next_attempt_at:
        told += f", again in {ago(hook.next_attempt_at, now_ms)}"
    return told


@app.command()
def add(
    receiver: Annotated[str, typer.Argument(metavar="URL", help="Where events are sent.")],
    type: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TYPE",
            help='Only these: turn.ended, "turn.*", "*"; repeatable. Else all but item.delta.',
        ),
    ] = None,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Send all sessions' events to a URL from now on. The secret is printed this once."""
    with daemon(url, data_dir, as_json) as client:
        added = client.add_webhook(receiver, type or ())
    if as_json:
        say(added)
        return
    # The secret alone on stdout, for a pipe or a file.
    typer.echo(added.secret)
    typer.echo(
        f"This is the secret of {added.id}, for whoever verifies its signatures. It is not shown "
        f"again. Try it: dragoman hooks test {added.id}",
        err=True,
    )


@app.command()
def remove(hook: Hook, url: Url = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Send nothing more to a receiver."""
    with daemon(url, data_dir, as_json) as client:
        client.remove_webhook(hook)
    say({"id": hook, "removed": True}) if as_json else typer.echo(f"{hook} is removed.")


@app.command()
def enable(hook: Hook, url: Url = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Go on from where it was; what has come meanwhile is sent now."""
    _switch(hook, url, data_dir, as_json, enabled=True)


@app.command()
def disable(hook: Hook, url: Url = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Send nothing for now; the place in the log is kept."""
    _switch(hook, url, data_dir, as_json, enabled=False)


def _switch(
    hook: str, url: str | None, data_dir: str | None, as_json: bool, *, enabled: bool
) -> None:
    with daemon(url, data_dir, as_json) as client:
        changed = client.change_webhook(hook, enabled=enabled)
    if as_json:
        say(changed)
    else:
        typer.echo(f"{hook} is {'enabled' if enabled else 'disabled'}; {changed.pending} wait.")


@app.command("test")
def try_out(hook: Hook, url: Url = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Send a signed request that is no event, and tell what the receiver answered."""
    with daemon(url, data_dir, as_json) as client:
        sent = client.test_webhook(hook)
    if as_json:
        say(sent)
    elif sent.delivered:
        typer.echo(f"The receiver answered {sent.status} after {sent.took_ms} ms.")
    else:
        typer.echo(f"Not delivered: {line(sent.error or '', ERROR_WIDTH)}", err=True)
    if not sent.delivered:
        raise typer.Exit(ERROR)
