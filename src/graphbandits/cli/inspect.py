"""``graphbandits inspect``: one decision in detail."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from graphbandits.cli.options import GRAPH_HELP, Json, Plugin, load

if TYPE_CHECKING:
    from rich.table import Table

    from graphbandits.theory import Inspection

#: Differences of gains below this are rounding, relatively.
ROUNDING = 1e-9


def inspect(
    beta: Annotated[
        list[str],
        typer.Option(
            help="The posterior Beta(A,B) of an arm, as A,B; once for each arm.", metavar="A,B"
        ),
    ],
    graph: Annotated[str, typer.Option(help=GRAPH_HELP, metavar="GRAPH")],
    samples: Annotated[
        int | None,
        typer.Option(help="Estimate the joint gain g from so many draws, too.", metavar="N"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Names the draws of --samples.", metavar="N")] = 0,
    plugin: Plugin = None,
    json: Json = False,
) -> None:
    """Lay one decision open: what is believed, what each arm would teach, what to play.

    Example: graphbandits inspect --beta 1,2 --beta 4,4 --beta 12,9 --graph star
    """
    load(plugin)
    from graphbandits.cli.formatting import print_json
    from graphbandits.theory import inspect_decision

    found = inspect_decision(beta, graph, samples=samples, seed=seed, progress=True)
    if json:
        print_json(found.to_dict())
    else:
        _print_beliefs(found, graph)
        _print_plays(found)


def _print_beliefs(found: Inspection, graph: str) -> None:
    from graphbandits.cli.formatting import plain_console

    console = plain_console()
    bound, joint = found.gain["bound"], found.gain["joint"]
    exact = ("g", "G h/g") if joint else ("",)
    shapes = [f"{_parameter(a)}, {_parameter(b)}" for a, b in found.parameters]
    roomy = max(map(len, shapes)) <= len("Beta(a, b)")  # long ones need the place of the bars
    bars = ("",) if roomy else ()
    table = _table("arm", "Beta(a, b)", "P(best)", *bars, "regret", "h", "G h", *exact)
    most = max(bound) or 1.0
    for i, arm in enumerate(found.arms):
        gains = [_bar(bound[i] / most)]
        if joint:
            gains = [_number(joint[i], ".3g"), _share(bound[i], joint[i])]
        table.add_row(
            arm,
            shapes[i],
            _number(found.alpha[i]),
            *((_bar(found.alpha[i]),) if roomy else ()),
            _number(found.delta[i]),
            _number(found.h[i], ".3g"),
            _number(bound[i], ".3g"),
            *gains,
        )
    console.print(f"Graph {graph}. The best arm's mean is expected at {_mean(found.rho)}.")
    if found.changes:
        console.print("This graph changes: here it is as in round 1 of trial 0, seed 0.")
    console.print(table)
    console.print(
        "regret: expected loss of playing the arm. h: information about the best arm\n"
        "in its own outcome, in nats. G h: the sum of that over all that playing it\n"
        f"shows{'; g: in all of it together' if joint else ''}.\n{_accuracy(found)}\n",
        style="dim",
    )
    sampled = found.sampled
    if joint is None:
        hint = " (here: --samples 1000)\n" if sampled is None else "\n"
        console.print(f"No g: {found.gain['reason']}{hint}")
    if sampled is not None:
        table = _table("arm", "g, estimated", "standard error")
        pairs = zip(found.arms, sampled["gain"], sampled["standard_error"], strict=True)
        for arm, value, error in pairs:
            table.add_row(arm, _number(value, ".3g"), _number(error, ".2g"))
        console.print(
            f"g from {sampled['samples']} draws of what each arm shows, seed {sampled['seed']}."
        )
        console.print(table)


def _print_plays(found: Inspection) -> None:
    from graphbandits.cli.formatting import plain_console

    console = plain_console()
    table = _table("arm", *(name.replace("(gain=joint)", "\n(joint)") for name in found.pi))
    for i, arm in enumerate(found.arms):
        plays = (pi[i] for pi in found.pi.values())
        table.add_row(arm, *("." if play == 0.0 else _number(play) for play in plays))
    table.add_section()
    for label, ratios in (("ratio", found.ratio), ("by g", found.joint_ratio)):
        if ratios is not None:
            table.add_row(label, *map(_ratio, ratios.values()))
    console.print(
        "Probability of each play; ratio is (expected regret)² / (expected information)"
        + (",\nby G h and by g; (joint) plays by g." if found.joint_ratio else ".")
    )
    console.print(table)
    if not math.isnan(found.psi):
        most = "" if found.limit is None else f", at most {found.limit:g} here"
        console.print(f"psi, the ratio of ts-n by G h: {_ratio(found.psi)}{most}.")


def _table(*columns: str) -> Table:
    from graphbandits.cli.tables import plain_table

    table = plain_table("", [], [])
    for column in columns:
        left = column in ("arm", "")
        wrap = column == "Beta(a, b)"  # of long parameters, before any other number is cut
        table.add_column(column, justify="left" if left else "right", no_wrap=not wrap)
    return table


def _bar(share: float, width: int = 6) -> str:
    """A bar of eighths of a character.

    >>> _bar(0.5)
    '███   '
    """
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")).ljust(width)


def _ratio(value: float) -> str:
    return "none" if math.isnan(value) else _number(value)


def _share(part: float, whole: float) -> str:
    """In per cent, where what is not the whole is never rounded to it.

    >>> _share(0.5, 0.8), _share(0.99999, 1.0), _share(0.3, 0.3), _share(0.0, 0.0)
    ('62.5%', '>99.9%', '100%', '.')
    """
    if whole == 0.0:
        return "."
    if part >= whole * (1.0 - ROUNDING):
        return "100%"
    percent = f"{100.0 * part / whole:.1f}%"
    return ">99.9%" if percent == "100.0%" else percent


def _number(value: float, form: str = ".4f") -> str:
    """In this form, or two digits of what is so small (or large) that it would not show them.

    >>> _number(0.25), _number(1.234e-12), _number(0.0)
    ('0.2500', '1.2e-12', '0')
    """
    if value == 0.0:
        return "0"
    return format(value, form if 1e-3 <= value < 1e5 else ".1e")


def _mean(value: float) -> str:
    """A number in [0, 1] in which an end is told from what is near it.

    >>> _mean(0.75), _mean(0.99999998), _mean(2e-7), _mean(1.0)
    ('0.7500', '1 - 2.0e-08', '2.0e-07', '1')
    """
    rest = 1.0 - value
    if rest >= 1e-3:
        return _number(value)
    return f"1 - {rest:.1e}" if rest > 1e-14 else "1"  # (the rest is rounding)


def _parameter(value: float) -> str:
    """All digits of a Beta parameter, ten at most.

    >>> _parameter(1e9), _parameter(0.001), _parameter(1000001.5)
    ('1e+09', '0.001', '1000001.5')
    """
    short = f"{value:g}"
    return short if float(short) == value else f"{value:.10g}"


def _accuracy(found: Inspection) -> str:
    """How far the numbers can be trusted, in one line."""
    from graphbandits.posteriors.beta_bernoulli import LEAST_VALUE

    tiny = any(0.0 < value < LEAST_VALUE for value in (*found.alpha, *found.delta, *found.h))
    above = f" above {LEAST_VALUE:g}" if tiny else ""
    estimate = f"{found.accuracy['estimate']:.0e}"
    return f"P(best), regret and h: accurate to {estimate} relatively{above} (estimated)."
