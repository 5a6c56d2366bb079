"""``graphbandits agent`` and ``evaluate``: live agents for the shell and other languages."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

import graphbandits
from graphbandits.cli import _common
from graphbandits.cli._common import (
    count,
    flag,
    lifetime,
    load,
    number,
    option,
    plain_console,
    plain_table,
    print_json,
    print_line,
    print_table,
    print_text,
    small_number,
    table_of,
)
from graphbandits.errors import InputError
from graphbandits.registry import text_of

if TYPE_CHECKING:
    from graphbandits.live import Agent
    from graphbandits.live.evaluation import Evaluation
    from graphbandits.live.health import Health

agent = typer.Typer(
    no_args_is_help=True,
    help="Make real decisions with an agent that is kept in a file or in PostgreSQL.",
)

#: Number of entries that 'history' prints as a table.
SHOWN_ENTRIES = 20
OUTCOME = "an outcome: write ARM=REWARD, such as ann=1, or ARM=TOTAL,COUNT, such as ann=3,10"

Place = Annotated[
    str,
    typer.Argument(
        help="File of SQLite, such as campaign.db, or address of a PostgreSQL database, such as "
        "postgresql://user@host/database.",
        metavar="STORE",
    ),
]
Name = Annotated[str, option("NAME", "Name of the agent in the store.")]
Id = Annotated[str, typer.Argument(help="Id of the decision.", metavar="ID")]
Arms = Annotated[list[str], typer.Argument(help="Arms.", metavar="ARM...")]
Expires = Annotated[
    float | None,
    lifetime("Time after which an open decision expires, such as 90 (seconds), 30m, 12h or 3d."),
]
Outcomes = Annotated[
    str | None,
    option("JSON", 'Outcomes as a JSON object, such as \'{"ann": 1, "bob": [3, 10]}\'.'),
]


@contextmanager
def _opened(store: str, name: str, plugin: list[Path] | None) -> Iterator[Agent]:
    load(plugin)
    from graphbandits.simulation.progress import announce_compilation

    announce_compilation()
    opened = graphbandits.Agent(store=store, name=name)
    try:
        yield opened
    finally:
        opened.disconnect()


def _call(
    store: str, name: str, plugin: list[Path] | None, op: str, **keys: object
) -> dict[str, Any]:
    with _opened(store, name, plugin) as opened:
        from graphbandits.live.requests import handle

        return handle(opened, {"op": op, **keys})


def _json(text: str | None) -> Any:
    if text is None:
        return None
    from graphbandits.live.requests import read_json

    return read_json(text)


# Decisions ----------------------------------------------------------------------------------------


@agent.command()
def init(
    store: Place,
    policy: Annotated[str, option("POLICY", "Policy; see 'graphbandits list policies'.")],
    graph: Annotated[str, option("GRAPH", _common.GRAPH_HELP)] = "empty",
    arms: Annotated[
        str | None,
        option("ARMS", "Number of arms, or names separated by commas. Default: from the graph."),
    ] = None,
    seed: Annotated[int | None, number("Seed of the draws. Default: a random one.")] = None,
    posterior: Annotated[
        str | None,
        option(
            "POSTERIOR",
            "Model of the rewards, such as \"normal(sd=2)\"; see 'graphbandits list posteriors'. "
            "Default: beta-bernoulli.",
        ),
    ] = None,
    prior: Annotated[
        list[str] | None,
        option(
            "PARAMETERS",
            "Parameters of the prior, such as 2,5 or mean=0,sd=2; once for all arms, or repeated "
            "once per arm.",
        ),
    ] = None,
    horizon: Annotated[
        int | None, number("Number of decisions, for policies that need it.")
    ] = None,
    expires: Expires = None,
    floor: Annotated[
        float | None,
        option("P", "Probability of exploration in every decision, for the evaluation of the log."),
    ] = None,
    floor_over: Annotated[
        str,
        option("ARMS", "Arms over which --floor is spread: 'arms' (all) or 'dominating-set'."),
    ] = "arms",
    name: Name = "default",
    plugin: _common.Plugin = None,
) -> None:
    """Create an agent.

    Example: graphbandits agent init campaign.db --policy ids-n --graph complete --arms 4
    """
    load(plugin)
    from graphbandits.live.store import open_store

    settings: dict[str, Any] = {
        "policy": policy,
        "graph": graph,
        "arms": read_arms(arms),
        "posterior": posterior,
        "prior": prior[0] if prior and len(prior) == 1 else prior,
        "horizon": horizon,
        "expires": expires,
        "floor": floor,
        "floor_over": floor_over,
    }
    checked = graphbandits.Agent(**settings, seed=seed)  # before a file is created
    if name in _names(store):
        with open_store(store, must_exist=True) as found:
            raise InputError(
                f"{found.place} has an agent '{name}': choose another --name, or another store"
            )
    made = graphbandits.Agent(**settings, seed=checked.seed, store=store, name=name)
    made.disconnect()
    shown = text_of(made.policy), count(len(made.arms), "arm"), f"seed {made.seed}"
    print_line(f"Created agent '{name}': {', '.join(shown)}.")


def _names(store: str) -> list[str]:
    """Return the names of the agents of a store; none if there is no store."""
    from graphbandits.live.store import open_store

    try:
        with open_store(store, must_exist=True) as found:
            return found.agents()
    except InputError:
        return []


def read_arms(text: str | None) -> int | list[str] | None:
    """Read a number of arms, or their names.

    >>> read_arms("4"), read_arms("ann, bob")
    (4, ['ann', 'bob'])
    """
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        return [name.strip() for name in text.split(",")]


@agent.command()
def decide(
    store: Place,
    n: Annotated[int, number("Number of decisions.")] = 1,
    distinct: Annotated[bool, flag("--distinct", "Decide for different arms.")] = False,
    among: Annotated[
        list[str] | None, option("ARM", "Arm that may be played; repeat for several.")
    ] = None,
    exclude: Annotated[
        list[str] | None, option("ARM", "Arm that may not be played; repeat for several.")
    ] = None,
    graph: Annotated[
        str | None, option("GRAPH", "Graph of these decisions. Default: that of the agent.")
    ] = None,
    context: Annotated[
        str | None, option("JSON", "JSON value that is kept with the decisions.")
    ] = None,
    pending: Annotated[
        str,
        option(
            "WAY",
            "How outcomes count that are expected from open decisions: ignore, or expected (by "
            "their expectation).",
        ),
    ] = "ignore",
    expires: Expires = None,
    pi: Annotated[bool, flag("--pi", "Also print the probability of each arm.")] = False,
    name: Name = "default",
    plugin: _common.Plugin = None,
) -> None:
    """Decide which arm to play. Prints each decision as a JSON object on its own line.

    Example: graphbandits agent decide campaign.db --exclude bob
    """
    keys: dict[str, Any] = {
        "n": n,
        "distinct": distinct,
        "among": among,
        "exclude": exclude,
        "graph": graph,
    }
    keys |= {"context": _json(context), "pending": pending, "expires": expires, "pi": pi}
    for made in _call(store, name, plugin, "decide", **keys)["decisions"]:
        _print_json_line(made)


@agent.command()
def observe(
    store: Place,
    id: Id,
    outcome: Annotated[
        list[str] | None,
        typer.Argument(
            help="Reward of an arm, as ARM=REWARD, or ARM=TOTAL,COUNT for several outcomes.",
            metavar="ARM=REWARD...",
        ),
    ] = None,
    outcomes: Outcomes = None,
    partial: Annotated[
        bool, flag("--partial", "Keep the decision open: more outcomes may come.")
    ] = False,
    extra: Annotated[
        bool, flag("--extra", "Accept outcomes of arms that the decision did not reveal.")
    ] = False,
    name: Name = "default",
    plugin: _common.Plugin = None,
) -> None:
    """Learn from the outcomes of a decision, and close it.

    Example: graphbandits agent observe campaign.db 1-ca0d4595bd5c ann=1 bob=0
    """
    if (outcome is None) == (outcomes is None):
        raise InputError(
            "give outcomes as ARM=REWARD, such as ann=1, or as JSON with --outcomes; without an "
            "outcome, use 'graphbandits agent close'"
        )
    found = _json(outcomes) if outcome is None else _by_arm(outcome, OUTCOME)
    keys = {"id": id, "outcomes": found, "partial": partial, "extra": extra}
    _call(store, name, plugin, "observe", **keys)


def _by_arm(texts: list[str], form: str) -> dict[str, float | list[float]]:
    """Read numbers by arm; ``form`` describes a text.

    >>> _by_arm(["ann=1", "x=y=3,10"], "an outcome")
    {'ann': 1.0, 'x=y': [3.0, 10.0]}
    """
    found: dict[str, float | list[float]] = {}
    for text in texts:
        arm, equals, values = text.rpartition("=")
        try:
            numbers = [float(part) for part in values.split(",")]
        except ValueError:
            numbers = []
        if not equals or not 1 <= len(numbers) <= 2:
            raise InputError(f"'{text}' is not {form}")
        if arm in found:
            raise InputError(f"the arm '{arm}' is given twice: give it once")
        found[arm] = numbers if len(numbers) == 2 else numbers[0]
    return found


@agent.command()
def close(store: Place, id: Id, name: Name = "default", plugin: _common.Plugin = None) -> None:
    """Close a decision: no more outcomes are expected.

    Example: graphbandits agent close campaign.db 1-ca0d4595bd5c
    """
    _call(store, name, plugin, "close", id=id)


@agent.command()
def learn(
    store: Place,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="CSV or Parquet file with the columns arm and reward (and count), or arm, total "
            "and count.",
            metavar="FILE",
        ),
    ] = None,
    outcomes: Outcomes = None,
    key: Annotated[
        str | None, option("KEY", "Name of the data. Data with the same key is learned once.")
    ] = None,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Leave out arms that the agent does not have.")
    ] = False,
    name: Name = "default",
    plugin: _common.Plugin = None,
) -> None:
    """Learn from outcomes without a decision, such as earlier data.

    Example: graphbandits agent learn campaign.db last-year.csv --key last-year
    """
    if (file is None) == (outcomes is None):
        raise InputError("give a file with outcomes, or outcomes as JSON with --outcomes")
    unknown = "skip" if skip_unknown else "error"
    if file is None:
        given = {"outcomes": _json(outcomes), "key": key, "unknown": unknown}
        learned = _call(store, name, plugin, "learn", **given)["learned"]
    else:
        with _opened(store, name, plugin) as opened:
            learned = opened.learn(file, key=key, unknown=unknown)
    known = "" if learned or key is None else f": the data '{key}' were learned before"
    print_line(f"Learned {count(learned, 'outcome')}{known}.")


@agent.command()
def run(store: Place, name: Name = "default", plugin: _common.Plugin = None) -> None:
    """Answer requests until the end of the input: one JSON object per line, one answer per line.

    Example: echo '{"op": "decide"}' | graphbandits agent run campaign.db
    """
    with _opened(store, name, plugin) as opened, _Termination() as termination:
        from graphbandits.live.requests import MOST_BYTES, answer

        while line := termination.wait_for(lambda: _read_line(sys.stdin.buffer, MOST_BYTES)):
            if line.isspace() and len(line) <= MOST_BYTES:
                continue
            with redirect_stdout(sys.stderr):  # of a plug-in that prints
                found = answer(opened, line)
            _print_json_line(found)
            if termination.requested:
                break


def _read_line(stream: BinaryIO, most: int) -> bytes:
    """Read a line; of a line that is too long, only one byte too much."""
    line = rest = stream.readline(most + 1)
    while len(rest) > most and not rest.endswith(b"\n"):
        rest = stream.readline(most + 1)
    return line


class _Termination:
    """End of the process by SIGTERM: after the answer to the current request."""

    requested = False
    _waiting = False

    def __enter__(self) -> _Termination:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._request)
        return self

    def __exit__(self, *_: object) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._before)

    def wait_for(self, read: Callable[[], bytes]) -> bytes:
        """Read a request; a signal ends the process."""
        self._waiting = True
        if self.requested:  # before this line
            raise SystemExit(0)
        line = read()
        self._waiting = False
        return line

    def _request(self, *_: object) -> None:
        self.requested = True
        if self._waiting:
            raise SystemExit(0)


# A changing world ---------------------------------------------------------------------------------


@agent.command("add-arm")
def add_arm(
    store: Place,
    arm: Annotated[str, typer.Argument(help="Name of the new arm.", metavar="ARM")],
    prior: Annotated[
        str | None,
        option("PARAMETERS", "Parameters of its prior, such as 2,5. Default: as the other arms."),
    ] = None,
    edge: Annotated[
        list[str] | None,
        option(
            "ARM[=P]",
            "Neighbour in both directions, with a probability such as bob=0.5; repeat for several.",
        ),
    ] = None,
    reveals: Annotated[
        list[str] | None, option("ARM[=P]", "Arm that the new one reveals; repeat for several.")
    ] = None,
    revealed_by: Annotated[
        list[str] | None, option("ARM[=P]", "Arm that reveals the new one; repeat for several.")
    ] = None,
    name: Name = "default",
    plugin: _common.Plugin = None,
) -> None:
    """Add an arm.

    Example: graphbandits agent add-arm campaign.db eve --edge ann --edge bob=0.5
    """
    with _opened(store, name, plugin) as opened:
        from graphbandits.live.requests import handle

        numbered = isinstance(opened.arms[0], int) and arm.isdecimal()
        keys = {"name": int(arm) if numbered else arm, "prior": prior, "edges": _edges(edge)}
        keys |= {"reveals": _edges(reveals), "revealed_by": _edges(revealed_by)}
        handle(opened, {"op": "add_arm", **keys})


def _edges(texts: list[str] | None) -> dict[str, Any] | None:
    """Read neighbours with their probabilities, such as "ann" or "bob=0.5"."""
    if texts is None:
        return None
    full = [text if "=" in text else f"{text}=1" for text in texts]
    return _by_arm(full, "a neighbour: write ARM, or ARM=PROBABILITY, such as bob=0.5")


@agent.command()
def retire(store: Place, arms: Arms, name: Name = "default", plugin: _common.Plugin = None) -> None:
    """Retire arms: they are not played and not revealed any more.

    Example: graphbandits agent retire campaign.db bob
    """
    _call(store, name, plugin, "retire", arms=arms)


@agent.command()
def pause(store: Place, arms: Arms, name: Name = "default", plugin: _common.Plugin = None) -> None:
    """Pause arms: they are not played until they are resumed.

    Example: graphbandits agent pause campaign.db bob eve
    """
    _call(store, name, plugin, "pause", arms=arms)


@agent.command()
def resume(store: Place, arms: Arms, name: Name = "default", plugin: _common.Plugin = None) -> None:
    """Allow paused arms to be played again.

    Example: graphbandits agent resume campaign.db bob
    """
    _call(store, name, plugin, "resume", arms=arms)


@agent.command("set-graph")
def set_graph(
    store: Place,
    graph: Annotated[str, typer.Argument(help=_common.GRAPH_HELP, metavar="GRAPH")],
    name: Name = "default",
    plugin: _common.Plugin = None,
) -> None:
    """Replace the feedback graph. Open decisions keep their graph.

    Example: graphbandits agent set-graph campaign.db file:friends.csv
    """
    _call(store, name, plugin, "set_graph", graph=graph)


@agent.command("set-policy")
def set_policy(
    store: Place,
    policy: Annotated[str, typer.Argument(help="The new policy.", metavar="POLICY")],
    reset: Annotated[
        bool, flag("--reset", "Start from the prior, if the policy keeps other statistics.")
    ] = False,
    name: Name = "default",
    plugin: _common.Plugin = None,
) -> None:
    """Replace the policy, and keep what was learned.

    Example: graphbandits agent set-policy campaign.db ts-n
    """
    _call(store, name, plugin, "set_policy", policy=policy, reset=reset)


@agent.command()
def reset(store: Place, name: Name = "default", plugin: _common.Plugin = None) -> None:
    """Return to the prior and close all open decisions.

    Example: graphbandits agent reset campaign.db
    """
    _call(store, name, plugin, "reset")


# The store ----------------------------------------------------------------------------------------


@agent.command()
def status(
    store: Place,
    name: Name = "default",
    plugin: _common.Plugin = None,
    json: _common.Json = False,
) -> None:
    """Count decisions and outcomes.

    Example: graphbandits agent status campaign.db
    """
    found = _call(store, name, plugin, "status")["status"]
    if json:
        print_json(found)
        return
    table = plain_table("", [""], [""])
    table.show_header = False
    for key, value in found.items():
        table.add_row(key, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
    print_table(table)


@agent.command()
def explain(
    store: Place,
    id: Annotated[
        str | None, typer.Argument(help="Id of a decision. Default: the agent.", metavar="[ID]")
    ] = None,
    name: Name = "default",
    at: Annotated[
        datetime | None,
        _common.date("Show the agent as it was at a time, such as 2026-01-31T12:00."),
    ] = None,
    figure: Annotated[
        Path | None,
        option(
            "FILE",
            "Draw the graph with the beliefs, or the frontier of the decision, to a .png, .svg or "
            ".pdf file.",
        ),
    ] = None,
    plugin: _common.Plugin = None,
    json: _common.Json = False,
) -> None:
    """Show what the agent believes and decided last, or why it made a decision.

    Example: graphbandits agent explain campaign.db 17-9f86d081e4a2 --figure decision.png
    """
    if figure is not None:
        from graphbandits.catalogue import check_figure_path

        check_figure_path(figure, "--figure")
    with _opened(store, name, plugin) as opened:
        shown = opened if at is None else opened.at(at)
        explanation = None if id is None else shown.explain(id)
        found = shown.overview() if explanation is None else explanation.to_dict()
        files = []
        if figure is not None:
            from graphbandits.plots import save_figure

            files = save_figure((explanation or shown).figure(), figure)
    if json:
        print_json(found)
        return
    if explanation is None:
        _print_agent(found)
    else:
        plain_console().print(explanation)
    for file in files:
        print_line(f"Wrote {file}.")


def _print_agent(found: dict[str, Any]) -> None:
    status, arms = found["status"], found["arms"]
    print_text(
        f"Agent '{status['name']}': {status['policy']}, {count(status['arms'], 'arm')}, "
        f"{count(status['decisions'], 'decision')} ({status['open']} open), "
        f"{count(status['outcomes'] + status['learned'], 'outcome')}."
    )
    has_beliefs = any(one["alpha"] is not None for one in arms)
    columns: list[tuple[str, Iterable[str]]] = [("arm", (str(one["arm"]) for one in arms))]
    if has_beliefs:
        for header, key in (("P(best)", "alpha"), ("regret", "delta"), ("h", "h")):
            columns.append((header, ["" if x[key] is None else small_number(x[key]) for x in arms]))
    columns.append(("plays", (str(one["plays"]) for one in arms)))
    columns.append(("outcomes", (f"{one['outcomes']:g}" for one in arms)))
    states = list(arms[0]["state"]) if arms else []
    for key in states:
        columns.append((key, [_state(one["state"][key]) for one in arms]))
    if any(one["status"] != "active" for one in arms):
        columns.append(("", [one["status"].replace("active", "") for one in arms]))
    print_table(table_of(columns))
    if found["others"]:
        print_text(f"{count(found['others'], 'more arm')} not listed.")
    if not has_beliefs:
        print_text(
            "There are no beliefs: the policy has no posterior of the arms, or no arm may be "
            "played."
        )
    if not found["decisions"]:
        return
    table = plain_table("", ["decision", "time", "arm"], ["probability"])
    for one in found["decisions"]:
        when = datetime.fromisoformat(one["time"]).astimezone()
        chance = "" if one["probability"] is None else small_number(one["probability"])
        table.add_row(one["decision"], f"{when:%Y-%m-%d %H:%M:%S}", str(one["arm"]), chance)
    print_text("Last decisions, explained by 'agent explain STORE ID':")
    print_table(table)


def _state(value: Any) -> str:
    """Format a number of the state of an arm."""
    return "/".join(map(_state, value)) if isinstance(value, list) else f"{value:.4g}"


@agent.command()
def health(
    store: Place,
    level: Annotated[
        float,
        _common.fraction("Probability that the test of the posterior ever warns by mistake."),
    ] = 0.01,
    name: Name = "default",
    plugin: _common.Plugin = None,
    json: _common.Json = False,
) -> None:
    """Report whether outcomes contradict the posterior, and which answers are missing.

    Example: graphbandits agent health campaign.db
    """
    with _opened(store, name, plugin) as opened:
        found = opened.health(level)
    if json:
        print_json(found.to_dict())
    else:
        _print_health(found)
    raise typer.Exit(1 if found.warnings else 0)


def _print_health(found: Health) -> None:
    from graphbandits.live.health import age_text

    for line in found.warnings:
        print_text(f"Warning: {line}.")
    if not found.warnings:
        print_line("ok: nothing unusual was found.")
    for line in found.notes:
        print_text(f"Note: {line}.")
    table = plain_table("", [""], [""])
    table.show_header = False
    for key in ("decisions", "open", "expired", "unanswered", "outcomes", "learned", "late"):
        table.add_row(key, str(getattr(found, key)))
    if found.oldest is not None and found.median is not None:
        table.add_row("oldest open decision", age_text(found.oldest))
        table.add_row("median age of open decisions", age_text(found.median))
    if found.test is not None:
        table.add_row("highest average ratio", f"{found.test.highest_ratio:.3g}")
        table.add_row(f"warning from (level {found.level:g})", f"{found.test.threshold:.3g}")
    print_table(table)
    if found.test is not None and found.test.arms:
        columns = ["outcomes", "highest ratio", "warning from", "ratio now"]
        columns += ["posterior mean", "recent mean"]
        table = plain_table("Outcomes against the posterior", ["arm"], columns)
        for arm in found.test.arms:
            numbers = f"{arm.highest_ratio:.3g}", f"{arm.threshold:.6g}", f"{arm.ratio:.3g}"
            means = f"{arm.posterior_mean:.3g}", f"{arm.recent_mean:.3g}"
            table.add_row(str(arm.arm), str(arm.outcomes), *numbers, *means)
        print_table(table)
        print_text(
            "Ratios are averaged: that of all arms together counts one half, and single arms share "
            "the other half. So one arm alone needs a higher ratio for a warning.\n",
            style="dim",
        )
    if found.answers:
        table = plain_table("Answers", ["arm"], ["revealed", "received", "share", ""])
        for one in found.answers:
            numbers = f"{one.revealed:.4g}", str(one.received), f"{one.share:.0%}"
            table.add_row(str(one.arm), *numbers, "low" if one.low else "")
        print_table(table)


@agent.command()
def history(
    store: Place,
    last: Annotated[
        int | None,
        number(f"Number of entries. Default: {SHOWN_ENTRIES}; all with --json."),
    ] = None,
    name: Name = "default",
    plugin: _common.Plugin = None,
    json: Annotated[bool, flag("--json", "Print each entry as JSON on its own line.")] = False,
) -> None:
    """Print the last entries of the journal.

    Example: graphbandits agent history campaign.db --last 5
    """
    shown = SHOWN_ENTRIES if last is None and not json else last
    entries = _call(store, name, plugin, "history", last=shown)["entries"]
    if json:
        for entry in entries:
            _print_json_line(entry)
        return
    table = plain_table("", ["entry", "time", "kind", "decision", ""])
    for entry in entries:
        when = datetime.fromisoformat(entry.pop("time")).astimezone()
        cells = (str(entry.pop(key, "")) for key in ("number", "kind", "decision"))
        first, *more = cells
        table.add_row(first, when.strftime("%Y-%m-%d %H:%M:%S"), *more, _details(entry))
    print_table(table)


def _details(entry: dict[str, Any]) -> str:
    """Format the other values of an entry."""
    found = []
    for key, value in entry.items():
        if key == "outcomes" and isinstance(value, dict):
            found += [f"{arm}={_reward(reward)}" for arm, reward in value.items()]
        elif isinstance(value, bool):
            found += [key] if value else []
        else:
            found.append(f"{key} {_reward(value) if isinstance(value, float) else value}")
    return ", ".join(found)


def _reward(value: float | list[float]) -> str:
    return ",".join(f"{one:g}" for one in value) if isinstance(value, list) else f"{value:g}"


@agent.command()
def log(
    store: Place,
    output: Annotated[
        Path, option("FILE", "File to write: .parquet (with the graphs), .csv or .jsonl.")
    ],
    name: Name = "default",
    plugin: _common.Plugin = None,
) -> None:
    """Write all decisions with their probabilities and outcomes to a file.

    Example: graphbandits agent log campaign.db --output log.parquet
    """
    with _opened(store, name, plugin) as opened:
        found = opened.log()
        found.write(output)
    print_line(f"Wrote {count(len(found), 'decision')} to {output}.")


@agent.command("list")
def list_(store: Place, json: _common.Json = False) -> None:
    """List the agents of a store.

    Example: graphbandits agent list campaign.db
    """
    from graphbandits.live.store import open_store

    with open_store(store, must_exist=True) as found:
        names = found.agents()
    if json:
        print_json({"agents": names})
        return
    for name in names:
        print_line(name)


@agent.command()
def compact(store: Place, name: Name = "default", plugin: _common.Plugin = None) -> None:
    """Remove old snapshots, and release free space. The journal is kept.

    Example: graphbandits agent compact campaign.db
    """
    with _opened(store, name, plugin) as opened:
        opened.compact()


@agent.command()
def forget(
    store: Place,
    before: Annotated[
        datetime, _common.date("Date or time, such as 2026-01-31 or 2026-01-31T12:00+01:00.")
    ],
    name: Name = "default",
    plugin: _common.Plugin = None,
) -> None:
    """Remove entries of the journal before a date, and keep what was learned from them.

    Example: graphbandits agent forget campaign.db --before 2026-01-31
    """
    with _opened(store, name, plugin) as opened:
        removed = opened.forget(before)
    print_line(f"Removed {count(removed, 'entry', 'entries')}.")


@agent.command()
def backup(
    store: Place,
    target: Annotated[
        str,
        typer.Argument(help="A new file, or the address of an empty database.", metavar="TARGET"),
    ],
) -> None:
    """Copy a store with all its agents, also while they are in use.

    Example: graphbandits agent backup campaign.db copy.db
    """
    from graphbandits.live.store import open_store

    with open_store(store, must_exist=True) as source, open_store(target) as copy:
        source.copy_to(copy)
        print_line(f"Copied {count(len(copy.agents()), 'agent')}.")


@agent.command()
def verify(store: Place, name: Name = "default", plugin: _common.Plugin = None) -> None:
    """Replay the journal and compare the result with the state of the agent.

    Example: graphbandits agent verify campaign.db
    """
    with _opened(store, name, plugin) as opened:
        replayed = opened.verify()
    print_line(f"Replayed {count(replayed, 'entry', 'entries')}: the state is the same.")


def _print_json_line(value: object) -> None:
    from graphbandits._files import json_text

    typer.echo(json_text(value, indent=None))


def evaluate(
    log: Annotated[
        Path,
        typer.Argument(
            help="Log of decisions: a file of 'graphbandits agent log', or a CSV, JSONL or Parquet "
            "file with the columns arm, probability (or pi) and reward (or outcomes).",
            metavar="LOG",
        ),
    ],
    policy: Annotated[
        list[str],
        option(
            "POLICY",
            'Policy, arm, or probabilities as a JSON object such as \'{"ann": 0.5, "bob": '
            "0.5}'; repeat for several.",
        ),
    ],
    estimator: Annotated[
        str,
        option(
            "NAME",
            "ips, snips, dr (doubly robust), dr-side (with side observations), replay (uniform "
            "logs), or auto.",
        ),
    ] = "auto",
    level: Annotated[float, option("LEVEL", "Level of the intervals.")] = 0.95,
    graph: Annotated[
        str | None,
        option("GRAPH", "Feedback graph of a log that has none, as in 'graphbandits graph'."),
    ] = None,
    arms: Annotated[
        str | None,
        option("ARMS", "Names of the arms of this graph, separated by commas, or their number."),
    ] = None,
    posterior: Annotated[
        str | None,
        option("POSTERIOR", "Model of the rewards of a learning policy. Default: that of the log."),
    ] = None,
    prior: Annotated[
        list[str] | None,
        option("PARAMETERS", "Parameters of its prior, such as 2,5; once, or repeated per arm."),
    ] = None,
    horizon: Annotated[
        int | None, number("Number of decisions, for policies that need it.")
    ] = None,
    before: Annotated[
        datetime | None,
        _common.date("Use only decisions that were made before this date, such as 2026-01-31."),
    ] = None,
    plugin: _common.Plugin = None,
    json: _common.Json = False,
) -> None:
    """Estimate the expected reward per decision of policies, from a log of other decisions.

    Example: graphbandits evaluate log.parquet --policy ids-n --policy uniform
    """
    load(plugin)
    made = graphbandits.DecisionLog.of(log, read_arms(arms), graph)
    more: dict[str, Any] = {
        "posterior": posterior,
        "prior": prior[0] if prior and len(prior) == 1 else prior,
        "horizon": horizon,
        "before": before,
    }
    found = [
        graphbandits.evaluate(made, _policy(text), estimator=estimator, level=level, **more)
        for text in policy
    ]
    if json:
        print_json({"evaluations": [one.to_dict() for one in found]})
        return
    _print(found)


def _policy(text: str) -> Any:
    """Read a policy, or probabilities of arms such as ``{"ann": 1}``."""
    if not text.lstrip().startswith("{"):
        return text
    from graphbandits.live.requests import read_json

    return read_json(text)


def _print(found: list[Evaluation]) -> None:
    first = found[0]
    table = plain_table(
        "", ["policy", "estimator"], ["value", "interval", "guaranteed", "effective"]
    )
    for one in found:
        table.add_row(
            one.policy,
            one.estimator,
            f"{one.value:.4g}",
            _interval(one.interval),
            "none" if one.guaranteed is None else _interval(one.guaranteed),
            f"{one.effective:.0f}",
        )
    print_table(table)
    print_text(
        f"{count(first.decisions, 'decision')}, {count(first.open_decisions, 'open one')} left "
        f"out; average reward of the plays {first.logged:.4g}."
    )
    print_text(
        f"Level {first.level:g}; 'interval' is asymptotic, 'guaranteed' valid for any number of "
        "decisions."
    )
    warnings = dict[str, list[str]]()  # with the policies that have them
    for one in found:
        for warning in one.warnings:
            warnings.setdefault(warning, []).append(one.policy)
    for warning, policies in warnings.items():
        print_text(f"Warning ({'; '.join(policies)}): {warning}.")


def _interval(ends: tuple[float, float]) -> str:
    return f"[{ends[0]:.3f}, {ends[1]:.3f}]"
