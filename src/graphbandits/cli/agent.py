"""``graphbandits agent`` and ``evaluate``: live agents for the shell and other languages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from datetime import datetime
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

import graphbandits
from graphbandits.cli import _ui
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

Horizon = Annotated[int | None, _ui.number("Number of decisions, for policies that need it.")]
Name = Annotated[str, _ui.option("NAME", "Name of the agent in the store.")]
Id = Annotated[str, _ui.argument("ID", "Id of the decision.")]
Arms = Annotated[list[str], _ui.argument("ARM...", "Arms.")]
Expires = Annotated[
    float | None,
    _ui.lifetime("Time after which an open decision expires, such as 90 (seconds), 30m or 3d."),
]
Outcomes = Annotated[
    str | None,
    _ui.option("JSON", 'Outcomes as a JSON object, such as \'{"ann": 1, "bob": [3, 10]}\'.'),
]


def _command(command: Callable[..., None]) -> Callable[..., None]:
    """Add a command that gets the agent of STORE, --name and --plugin as its first argument."""

    def run(store: str, name: str, plugin: list[Path] | None, **given: Any) -> None:
        _ui.prepare(plugin)
        opened = graphbandits.Agent(store=store, name=name)
        try:
            command(opened, **given)
        finally:
            opened.disconnect()

    _, *own = signature(command, eval_str=True, locals={"Agent": Any}).parameters.values()
    place = Parameter("store", Parameter.KEYWORD_ONLY, annotation=_ui.Store)
    shared = signature(_shared, eval_str=True).parameters.values()
    parameters = [place, *(one.replace(kind=Parameter.KEYWORD_ONLY) for one in (*own, *shared))]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__doc__ = command.__doc__
    agent.command(command.__name__.replace("_", "-"))(run)
    return command


def _shared(name: Name = "default", plugin: _ui.Plugin = None) -> None:
    """Options of all commands of an agent."""


def _handle(opened: Agent, op: str, **keys: object) -> dict[str, Any]:
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
    store: _ui.Store,
    policy: Annotated[str, _ui.option("POLICY", "Policy; see 'graphbandits list policies'.")],
    graph: _ui.Graph = "empty",
    arms: Annotated[
        str | None,
        _ui.option("ARMS", "Number of arms, or names with commas. Default: from the graph."),
    ] = None,
    seed: Annotated[int | None, _ui.number("Seed of the draws. Default: a random one.")] = None,
    posterior: Annotated[str | None, _ui.posterior("beta-bernoulli")] = None,
    prior: _ui.Prior = None,
    horizon: Horizon = None,
    expires: Expires = None,
    floor: Annotated[
        float | None, _ui.option("P", "Probability of exploration, for the evaluation of the log.")
    ] = None,
    floor_over: Annotated[
        str,
        _ui.option("ARMS", "Arms over which --floor is spread: 'arms' (all) or 'dominating-set'."),
    ] = "arms",
    name: Name = "default",
    plugin: _ui.Plugin = None,
) -> None:
    """Create an agent.

    Example: graphbandits agent init campaign.db --policy ids-n --graph complete --arms 4
    """
    _ui.load(plugin)
    from graphbandits.live.store import open_store

    exists, place = False, store
    # a store that does not exist is created
    with suppress(InputError), open_store(store, must_exist=True) as found:
        exists, place = name in found.agents(), found.place
    if exists:
        raise InputError(f"{place} has an agent '{name}': choose another --name, or another store")
    made = graphbandits.Agent(
        policy,
        read_arms(arms),
        graph,
        seed=seed,
        posterior=posterior,
        prior=_ui.one_or_all(prior),
        horizon=horizon,
        expires=expires,
        floor=floor,
        floor_over=floor_over,
        store=store,
        name=name,
    )
    made.disconnect()
    shown = text_of(made.policy), _ui.count(len(made.arms), "arm"), f"seed {made.seed}"
    _ui.print_line(f"Created agent '{name}': {', '.join(shown)}.")


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


@_command
def decide(
    opened: Agent,
    n: Annotated[int, _ui.number("Number of decisions.")] = 1,
    distinct: Annotated[bool, _ui.flag("--distinct", "Decide for different arms.")] = False,
    among: Annotated[
        list[str] | None, _ui.option("ARM", "Arm that may be played; repeat for several.")
    ] = None,
    exclude: Annotated[
        list[str] | None, _ui.option("ARM", "Arm that may not be played; repeat for several.")
    ] = None,
    graph: Annotated[
        str | None, _ui.option("GRAPH", "Graph of these decisions. Default: that of the agent.")
    ] = None,
    context: Annotated[
        str | None, _ui.option("JSON", "JSON value that is kept with the decisions.")
    ] = None,
    pending: Annotated[
        str, _ui.option("WAY", "How outcomes of open decisions count: ignore, or expected.")
    ] = "ignore",
    expires: Expires = None,
    pi: Annotated[bool, _ui.flag("--pi", "Also print the probability of each arm.")] = False,
) -> None:
    """Decide which arm to play. Prints each decision as a JSON object on its own line.

    Example: graphbandits agent decide campaign.db --exclude bob
    """
    keys: dict[str, Any] = {"n": n, "distinct": distinct, "among": among, "exclude": exclude}
    keys |= {"graph": graph, "context": _json(context), "pending": pending, "pi": pi}
    for made in _handle(opened, "decide", expires=expires, **keys)["decisions"]:
        _ui.print_json(made, indent=None)


@_command
def observe(
    opened: Agent,
    id: Id,
    outcome: Annotated[
        list[str] | None,
        _ui.argument(
            "ARM=REWARD...",
            "Reward of an arm, as ARM=REWARD, or ARM=TOTAL,COUNT for several outcomes.",
        ),
    ] = None,
    outcomes: Outcomes = None,
    partial: Annotated[
        bool, _ui.flag("--partial", "Keep the decision open: more outcomes may come.")
    ] = False,
    extra: Annotated[
        bool, _ui.flag("--extra", "Accept outcomes of arms that the decision did not reveal.")
    ] = False,
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
    _handle(opened, "observe", id=id, outcomes=found, partial=partial, extra=extra)


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


@_command
def close(opened: Agent, id: Id) -> None:
    """Close a decision: no more outcomes are expected.

    Example: graphbandits agent close campaign.db 1-ca0d4595bd5c
    """
    _handle(opened, "close", id=id)


@_command
def learn(
    opened: Agent,
    file: Annotated[
        Path | None,
        _ui.argument(
            "FILE",
            "CSV or Parquet file with the columns arm and reward (and count), or arm, total "
            "and count.",
        ),
    ] = None,
    outcomes: Outcomes = None,
    key: Annotated[
        str | None, _ui.option("KEY", "Name of the data. Data with the same key is learned once.")
    ] = None,
    skip_unknown: Annotated[
        bool, _ui.flag("--skip-unknown", "Leave out arms that the agent does not have.")
    ] = False,
) -> None:
    """Learn from outcomes without a decision, such as earlier data.

    Example: graphbandits agent learn campaign.db last-year.csv --key last-year
    """
    if (file is None) == (outcomes is None):
        raise InputError("give a file with outcomes, or outcomes as JSON with --outcomes")
    unknown = "skip" if skip_unknown else "error"
    if file is None:
        answer = _handle(opened, "learn", outcomes=_json(outcomes), key=key, unknown=unknown)
        learned = answer["learned"]
    else:
        learned = opened.learn(file, key=key, unknown=unknown)
    known = "" if learned or key is None else f": the data '{key}' were learned before"
    _ui.print_line(f"Learned {_ui.count(learned, 'outcome')}{known}.")


@_command
def run(opened: Agent) -> None:
    """Answer requests until the end of the input: one JSON object per line, one answer per line.

    Example: echo '{"op": "decide"}' | graphbandits agent run campaign.db
    """
    from graphbandits.live.requests import MOST_BYTES, answer

    waiting = stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True
        if waiting:
            raise SystemExit(0)

    with _ui.on_sigterm(stop):  # a request is answered before the process ends
        while True:
            waiting = True
            line = b"" if stopping else _read_line(sys.stdin.buffer, MOST_BYTES)
            waiting = False
            if not line:
                break
            if line.isspace() and len(line) <= MOST_BYTES:
                continue
            with redirect_stdout(sys.stderr):  # of a plug-in that prints
                found = answer(opened, line)
            _ui.print_json(found, indent=None)


def _read_line(stream: BinaryIO, most: int) -> bytes:
    """Read a line; of a line that is too long, only one byte too much."""
    line = rest = stream.readline(most + 1)
    while len(rest) > most and not rest.endswith(b"\n"):
        rest = stream.readline(most + 1)
    return line


# A changing world ---------------------------------------------------------------------------------


@_command
def add_arm(
    opened: Agent,
    arm: Annotated[str, _ui.argument("ARM", "Name of the new arm.")],
    prior: Annotated[
        str | None, _ui.option("PARAMETERS", "Parameters of its prior. Default: as the other arms.")
    ] = None,
    edge: Annotated[
        list[str] | None,
        _ui.option("ARM[=P]", "Neighbour in both directions, such as bob=0.5; repeat for several."),
    ] = None,
    reveals: Annotated[
        list[str] | None, _ui.option("ARM[=P]", "Arm that the new one reveals; repeat for several.")
    ] = None,
    revealed_by: Annotated[
        list[str] | None, _ui.option("ARM[=P]", "Arm that reveals the new one; repeat for several.")
    ] = None,
) -> None:
    """Add an arm.

    Example: graphbandits agent add-arm campaign.db eve --edge ann --edge bob=0.5
    """
    numbered = isinstance(opened.arms[0], int) and arm.isdecimal()
    keys = {"name": int(arm) if numbered else arm, "prior": prior, "edges": _edges(edge)}
    keys |= {"reveals": _edges(reveals), "revealed_by": _edges(revealed_by)}
    _handle(opened, "add_arm", **keys)


def _edges(texts: list[str] | None) -> dict[str, Any] | None:
    """Read neighbours with their probabilities, such as "ann" or "bob=0.5"."""
    if texts is None:
        return None
    full = [text if "=" in text else f"{text}=1" for text in texts]
    return _by_arm(full, "a neighbour: write ARM, or ARM=PROBABILITY, such as bob=0.5")


@_command
def retire(opened: Agent, arms: Arms) -> None:
    """Retire arms: they are not played and not revealed any more.

    Example: graphbandits agent retire campaign.db bob
    """
    _handle(opened, "retire", arms=arms)


@_command
def pause(opened: Agent, arms: Arms) -> None:
    """Pause arms: they are not played until they are resumed.

    Example: graphbandits agent pause campaign.db bob eve
    """
    _handle(opened, "pause", arms=arms)


@_command
def resume(opened: Agent, arms: Arms) -> None:
    """Allow paused arms to be played again.

    Example: graphbandits agent resume campaign.db bob
    """
    _handle(opened, "resume", arms=arms)


@_command
def set_graph(opened: Agent, graph: Annotated[str, _ui.argument("GRAPH", _ui.GRAPH_HELP)]) -> None:
    """Replace the feedback graph. Open decisions keep their graph.

    Example: graphbandits agent set-graph campaign.db file:friends.csv
    """
    _handle(opened, "set_graph", graph=graph)


@_command
def set_policy(
    opened: Agent,
    policy: Annotated[str, _ui.argument("POLICY", "The new policy.")],
    reset: Annotated[
        bool, _ui.flag("--reset", "Start from the prior, if the policy keeps other statistics.")
    ] = False,
) -> None:
    """Replace the policy, and keep what was learned.

    Example: graphbandits agent set-policy campaign.db ts-n
    """
    _handle(opened, "set_policy", policy=policy, reset=reset)


@_command
def reset(opened: Agent) -> None:
    """Return to the prior and close all open decisions.

    Example: graphbandits agent reset campaign.db
    """
    _handle(opened, "reset")


# The store ----------------------------------------------------------------------------------------


@_command
def status(opened: Agent, json: _ui.Json = False) -> None:
    """Count decisions and outcomes.

    Example: graphbandits agent status campaign.db
    """
    found = _handle(opened, "status")["status"]
    if json:
        _ui.print_json(found)
        return
    _ui.print_values(found)


@_command
def explain(
    opened: Agent,
    id: Annotated[str | None, _ui.argument("[ID]", "Id of a decision. Default: the agent.")] = None,
    at: Annotated[
        datetime | None, _ui.date("Show the agent as it was at a time, such as 2026-01-31T12:00.")
    ] = None,
    figure: Annotated[
        Path | None,
        _ui.option("FILE", "Draw the beliefs, or the decision, to a .png, .svg or .pdf file."),
    ] = None,
    json: _ui.Json = False,
) -> None:
    """Show what the agent believes and decided last, or why it made a decision.

    Example: graphbandits agent explain campaign.db 17-9f86d081e4a2 --figure decision.png
    """
    if figure is not None:
        from graphbandits.catalogue import check_figure_path

        check_figure_path(figure, "--figure")
    shown = opened if at is None else opened.at(at)
    explanation = None if id is None else shown.explain(id)
    found = shown.overview() if explanation is None else explanation.to_dict()
    files = []
    if figure is not None:
        from graphbandits.plots import save_figure

        files = save_figure((explanation or shown).figure(), figure)
    if json:
        _ui.print_json(found)
        return
    if explanation is None:
        _print_agent(found)
    else:
        _ui.print_text(explanation)
    for file in files:
        _ui.print_line(f"Wrote {file}.")


def _print_agent(found: dict[str, Any]) -> None:
    status, arms = found["status"], found["arms"]
    _ui.print_text(
        f"Agent '{status['name']}': {status['policy']}, {_ui.count(status['arms'], 'arm')}, "
        f"{_ui.count(status['decisions'], 'decision')} ({status['open']} open), "
        f"{_ui.count(status['outcomes'] + status['learned'], 'outcome')}."
    )
    has_beliefs = any(one["alpha"] is not None for one in arms)
    records = []
    for one in arms:
        record = {"arm": str(one["arm"])}
        if has_beliefs:
            chances = {"P(best)": one["alpha"], "regret": one["delta"], "h": one["h"]}
            record |= {key: "" if x is None else _ui.small_number(x) for key, x in chances.items()}
        record |= {"plays": one["plays"], "outcomes": one["outcomes"]} | one["state"]
        records.append(record | {"": one["status"].replace("active", "")})
    if records:
        _ui.print_records("", records)
    if found["others"]:
        _ui.print_text(f"{_ui.count(found['others'], 'more arm')} not listed.")
    if not has_beliefs:
        _ui.print_text(
            "There are no beliefs: the policy has no posterior of the arms, or no arm may be "
            "played."
        )
    if not found["decisions"]:
        return
    _ui.print_text("Last decisions, explained by 'agent explain STORE ID':")
    keys = "decision", "time", "arm", "probability"
    last = [{key: one[key] for key in keys} for one in found["decisions"]]
    _ui.print_records("", [one | {"time": _ui.local_time(one["time"])} for one in last])


@_command
def health(
    opened: Agent,
    level: Annotated[
        float, _ui.fraction("Probability that the test of the posterior ever warns by mistake.")
    ] = 0.01,
    json: _ui.Json = False,
) -> None:
    """Report whether outcomes contradict the posterior, and which answers are missing.

    Example: graphbandits agent health campaign.db
    """
    found = opened.health(level)
    if json:
        _ui.print_json(found.to_dict())
    else:
        _print_health(found)
    raise typer.Exit(1 if found.warnings else 0)


def _print_health(found: Health) -> None:
    from graphbandits.live.health import age_text

    for line in found.warnings:
        _ui.print_text(f"Warning: {line}.")
    if not found.warnings:
        _ui.print_line("ok: nothing unusual was found.")
    for line in found.notes:
        _ui.print_text(f"Note: {line}.")
    keys = "decisions", "open", "expired", "unanswered", "outcomes", "learned", "late"
    values = {key: getattr(found, key) for key in keys}
    if found.oldest is not None and found.median is not None:
        values["oldest open decision"] = age_text(found.oldest)
        values["median age of open decisions"] = age_text(found.median)
    if found.test is not None:
        values["highest average ratio"] = found.test.highest_ratio
        values[f"warning from (level {found.level:g})"] = found.test.threshold
    _ui.print_values(values)
    if found.test is not None and found.test.arms:
        _ui.print_records("Outcomes against the posterior", found.to_dict()["test"]["arms"])
        _ui.print_text(
            "Ratios are averaged: that of all arms together counts one half, and single arms share "
            "the other half. So one arm alone needs a higher ratio for a warning.\n",
            style="dim",
        )
    if found.answers:
        _ui.print_records("Answers", found.to_dict()["answers"])


@_command
def history(
    opened: Agent,
    last: Annotated[
        int | None, _ui.number(f"Number of entries. Default: {SHOWN_ENTRIES}; all with --json.")
    ] = None,
    json: Annotated[bool, _ui.flag("--json", "Print each entry as JSON on its own line.")] = False,
) -> None:
    """Print the last entries of the journal.

    Example: graphbandits agent history campaign.db --last 5
    """
    shown = SHOWN_ENTRIES if last is None and not json else last
    entries = _handle(opened, "history", last=shown)["entries"]
    if json:
        for entry in entries:
            _ui.print_json(entry, indent=None)
        return
    records = []
    for entry in entries:
        first = {"entry": entry.pop("number"), "time": _ui.local_time(entry.pop("time"))}
        first |= {key: entry.pop(key, "") for key in ("kind", "decision")}
        records.append(first | {"": _details(entry)})
    _ui.print_records("", records)


def _details(entry: dict[str, Any]) -> str:
    """Format the other values of an entry."""
    found = []
    for key, value in entry.items():
        if key == "outcomes" and isinstance(value, dict):
            rewards = {arm: _ui.cell(reward).replace(" ", "") for arm, reward in value.items()}
            found += [f"{arm}={reward}" for arm, reward in rewards.items()]
        elif isinstance(value, bool):
            found += [key] if value else []
        else:
            found.append(f"{key} {_ui.cell(value)}")
    return ", ".join(found)


@_command
def log(
    opened: Agent,
    output: Annotated[
        Path, _ui.option("FILE", "File to write: .parquet (with the graphs), .csv or .jsonl.")
    ],
) -> None:
    """Write all decisions with their probabilities and outcomes to a file.

    Example: graphbandits agent log campaign.db --output log.parquet
    """
    found = opened.log()
    found.write(output)
    _ui.print_line(f"Wrote {_ui.count(len(found), 'decision')} to {output}.")


@agent.command("list")
def list_(store: _ui.Store, json: _ui.Json = False) -> None:
    """List the agents of a store.

    Example: graphbandits agent list campaign.db
    """
    from graphbandits.live.store import open_store

    with open_store(store, must_exist=True) as found:
        names = found.agents()
    if json:
        _ui.print_json({"agents": names})
        return
    for name in names:
        _ui.print_line(name)


@_command
def compact(opened: Agent) -> None:
    """Remove old snapshots, and release free space. The journal is kept.

    Example: graphbandits agent compact campaign.db
    """
    opened.compact()


@_command
def forget(
    opened: Agent,
    before: Annotated[
        datetime, _ui.date("Date or time, such as 2026-01-31 or 2026-01-31T12:00+01:00.")
    ],
) -> None:
    """Remove entries of the journal before a date, and keep what was learned from them.

    Example: graphbandits agent forget campaign.db --before 2026-01-31
    """
    removed = opened.forget(before)
    _ui.print_line(f"Removed {_ui.count(removed, 'entry', 'entries')}.")


@agent.command()
def backup(
    store: _ui.Store,
    target: Annotated[
        str, _ui.argument("TARGET", "A new file, or the address of an empty database.")
    ],
) -> None:
    """Copy a store with all its agents, also while they are in use.

    Example: graphbandits agent backup campaign.db copy.db
    """
    from graphbandits.live.store import open_store

    with open_store(store, must_exist=True) as source, open_store(target) as copy:
        source.copy_to(copy)
        _ui.print_line(f"Copied {_ui.count(len(copy.agents()), 'agent')}.")


@_command
def verify(opened: Agent) -> None:
    """Replay the journal and compare the result with the state of the agent.

    Example: graphbandits agent verify campaign.db
    """
    replayed = opened.verify()
    _ui.print_line(f"Replayed {_ui.count(replayed, 'entry', 'entries')}: the state is the same.")


def evaluate(
    log: Annotated[
        Path,
        _ui.argument(
            "LOG",
            "Log of decisions: a file of 'graphbandits agent log', or a CSV, JSONL or Parquet "
            "file with the columns arm, probability (or pi) and reward (or outcomes).",
        ),
    ],
    policy: Annotated[
        list[str],
        _ui.option("POLICY", "Policy, arm, or probabilities as a JSON object; repeat for several."),
    ],
    estimator: Annotated[
        str, _ui.option("NAME", "ips, snips, dr (doubly robust), dr-side, replay, or auto.")
    ] = "auto",
    level: Annotated[float, _ui.option("LEVEL", "Level of the intervals.")] = 0.95,
    graph: Annotated[
        str | None,
        _ui.option("GRAPH", "Feedback graph of a log that has none, as in 'graphbandits graph'."),
    ] = None,
    arms: Annotated[
        str | None,
        _ui.option("ARMS", "Names of the arms of this graph, with commas, or their number."),
    ] = None,
    posterior: Annotated[str | None, _ui.posterior("that of the log")] = None,
    prior: _ui.Prior = None,
    horizon: Horizon = None,
    before: Annotated[
        datetime | None,
        _ui.date("Use only decisions that were made before this date, such as 2026-01-31."),
    ] = None,
    plugin: _ui.Plugin = None,
    json: _ui.Json = False,
) -> None:
    """Estimate the expected reward per decision of policies, from a log of other decisions.

    Example: graphbandits evaluate log.parquet --policy ids-n --policy uniform
    """
    _ui.load(plugin)
    made = graphbandits.DecisionLog.of(log, read_arms(arms), graph)
    found = [
        graphbandits.evaluate(
            made,
            _json(text) if text.lstrip().startswith("{") else text,
            estimator=estimator,
            level=level,
            posterior=posterior,
            prior=_ui.one_or_all(prior),
            horizon=horizon,
            before=before,
        )
        for text in policy
    ]
    if json:
        _ui.print_json({"evaluations": [one.to_dict() for one in found]})
        return
    _print(found)


def _print(found: list[Evaluation]) -> None:
    first = found[0]
    keys = "policy", "estimator", "value", "interval", "guaranteed"
    _ui.print_records(
        "",
        [
            {key: getattr(one, key) for key in keys} | {"effective": f"{one.effective:.0f}"}
            for one in found
        ],
    )
    decisions = _ui.count(first.decisions, "decision")
    _ui.print_text(
        f"{decisions}, {_ui.count(first.open_decisions, 'open one')} left out; average reward of "
        f"the plays {first.logged:.4g}."
    )
    _ui.print_text(
        f"Level {first.level:g}; 'interval' is asymptotic, 'guaranteed' valid for any number of "
        "decisions."
    )
    for one in found:
        for warning in one.warnings:
            _ui.print_text(f"Warning ({one.policy}): {warning}.")
