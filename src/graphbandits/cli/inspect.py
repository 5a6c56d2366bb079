"""``graphbandits inspect`` and ``graph``: analyse a decision or a graph."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphbandits
from graphbandits.cli import _common
from graphbandits.cli._common import (
    count,
    load,
    number,
    option,
    plain_table,
    print_json,
    print_line,
    print_table,
    print_text,
    seconds,
    small_number,
    table_of,
)
from graphbandits.errors import InputError

if TYPE_CHECKING:
    from graphbandits.catalogue import GraphDescription
    from graphbandits.theory import Inspection, PriorInspection

#: Relative differences of gains below this are rounding errors.
ROUNDING = 1e-9
#: Longest certificate on the terminal, in characters. JSON has the full certificate.
CERTIFICATE_WIDTH = 48


def inspect(
    beta: Annotated[
        list[str] | None,
        option("A,B", "Posterior Beta(A,B) of an arm, as A,B; repeat once per arm."),
    ] = None,
    posterior: Annotated[
        str | None,
        option(
            "POSTERIOR",
            "Posterior of the arms with the parameters that they share, such as "
            "\"normal(noise=1)\"; see 'graphbandits list posteriors'.",
        ),
    ] = None,
    arm: Annotated[
        list[str] | None,
        option(
            "PARAMETERS",
            "Parameters of an arm in this posterior, such as mean=0.3,sd=0.2; repeat once per arm.",
        ),
    ] = None,
    graph: Annotated[str | None, option("GRAPH", _common.GRAPH_HELP)] = None,
    prior: Annotated[
        str | None,
        option(
            "PRIOR",
            "Show what rewards a prior expects before any observation, such as "
            '"normal(mean=0, sd=1, noise=1)", or A,B for Beta(A,B).',
        ),
    ] = None,
    arms: Annotated[
        int | None, number("With --prior: number of arms of which the best is considered.")
    ] = None,
    samples: Annotated[
        int | None, option("N", "Also estimate the joint gain g from N random draws.")
    ] = None,
    seed: Annotated[
        int | None, option("N", "Seed of the random draws of --samples. Default: 0.")
    ] = None,
    plugin: _common.Plugin = None,
    json: _common.Json = False,
) -> None:
    """Analyse one decision: beliefs, information gain of each arm, and the play of each policy.

    With --prior, show the means and rewards that a prior expects.

    Example: graphbandits inspect --beta 1,2 --beta 4,4 --beta 12,9 --graph star
    """
    load(plugin)
    if prior is not None:
        if beta or arm or posterior or graph or samples:
            raise InputError("--prior cannot be combined with options for a decision: remove them")
        expected = graphbandits.inspect_prior(
            prior, arms=5 if arms is None else arms, seed=seed or 0
        )
        if json:
            print_json(expected.to_dict())
        else:
            _print_prior(expected)
        return
    given = _given_arms(beta, posterior, arm)
    if graph is None:
        raise InputError("a decision needs a graph: add --graph, such as --graph star")
    if arms is not None:
        raise InputError("--arms is for --prior: the number of arms is that of --beta or --arm")
    found = graphbandits.inspect_decision(
        given,
        graph,
        posterior=posterior or "beta-bernoulli",
        samples=samples,
        seed=seed or 0,
        progress=True,
    )
    if json:
        print_json(found.to_dict())
        return
    _print_beliefs(found, graph)
    _print_plays(found)


def _given_arms(beta: list[str] | None, posterior: str | None, arm: list[str] | None) -> list[str]:
    if beta and (posterior or arm):
        raise InputError(
            "--beta is for Beta posteriors: use --posterior with --arm, or only --beta"
        )
    if arm and not posterior:
        raise InputError('--arm needs the posterior: add --posterior, such as "normal(noise=1)"')
    if not (beta or arm):
        raise InputError(
            "no arms were given: give --beta A,B once per arm, --posterior with --arm once per "
            "arm, or --prior"
        )
    return beta or arm or []


def _print_prior(found: PriorInspection) -> None:
    print_text(f"Prior {found.posterior}, rewards: {found.rewards}.")
    table = plain_table("", ["quantile"], [f"{level:.1%}" for level in found.levels])
    table.add_row("mean of an arm", *(f"{x:.4g}" for x in found.mean_quantiles))
    table.add_row("a reward", *(f"{x:.4g}" for x in found.reward_quantiles))
    print_table(table)
    if found.probabilities is not None:
        listed = plain_table("", ["reward"], list(found.probabilities))
        listed.add_row("probability", *(f"{p:.4f}" for p in found.probabilities.values()))
        print_table(listed)
    print_text(
        f"Expected mean of an arm: {found.mean:.4g}; of the best of {found.arms} arms: "
        f"{found.best:.4g}. Standard deviation of a reward: {found.reward_sd:.4g}.\n"
        f"Rewards: estimated from {found.draws:,} draws, seed {found.seed}."
    )


def _print_beliefs(found: Inspection, graph: str) -> None:
    bound, joint = found.gain["bound"], found.gain["joint"]
    header = "Beta(a, b)" if found.posterior == "beta-bernoulli" else found.posterior
    shapes = [_shape(header, one) for one in found.parameters]
    columns = [("arm", found.arms), (header, shapes), ("P(best)", map(small_number, found.alpha))]
    if max(map(len, shapes)) <= len("Beta(a, b)"):  # long parameters use the space of the bars
        columns.append(("", map(_bar, found.alpha)))
    columns += [("regret", map(small_number, found.delta)), ("h", map(_gain, found.h))]
    columns.append(("G h", map(_gain, bound)))
    if joint:
        columns += [("g", map(_gain, joint)), ("G h/g", map(_percentage, bound, joint))]
    else:
        columns.append(("", (_bar(gain / (max(bound) or 1.0)) for gain in bound)))
    print_text(f"Graph {graph}. Expected mean of the best arm: {_mean(found.rho)}.")
    if found.changes:
        print_text("The graph changes over time; this is round 1 of trial 0 with seed 0.")
    print_table(table_of(columns, wrapped=header))
    joint_text = "g: information in all revealed outcomes jointly.\n" if joint else ""
    print_text(
        "regret: expected loss of playing the arm. h: information about the best arm\n"
        "in the outcome of the arm, in nats. G h: sum of h over all revealed arms.\n"
        f"{joint_text}{_accuracy(found)}\n",
        style="dim",
    )
    sampled = found.sampled
    if joint is None:
        hint = " (for example --samples 1000)\n" if sampled is None else "\n"
        print_text(f"No g: {found.gain['reason']}{hint}")
    if sampled is not None:
        gains = [small_number(value, ".3g") for value in sampled["gain"]]
        errors = [small_number(value, ".2g") for value in sampled["standard_error"]]
        print_text(
            f"g estimated from {sampled['samples']} draws of the outcomes, seed {sampled['seed']}."
        )
        print_table(
            table_of([("arm", found.arms), ("g, estimated", gains), ("standard error", errors)])
        )


def _print_plays(found: Inspection) -> None:
    columns: list[tuple[str, Iterable[str]]] = [("arm", found.arms)]
    for name, pi in found.pi.items():
        plays = ["." if play == 0.0 else small_number(play) for play in pi]
        columns.append((name.replace("(gain=joint)", "\n(joint)"), plays))
    table = table_of(columns)
    table.add_section()
    for label, ratios in (("ratio", found.ratio), ("with g", found.joint_ratio)):
        if ratios is not None:
            table.add_row(label, *map(_ratio, ratios.values()))
    print_text(
        "Probability of each play. ratio: (expected regret)² / (expected information)"
        + (",\nwith G h and with g. (joint): policies that use g." if found.joint_ratio else ".")
    )
    print_table(table)
    if not math.isnan(found.psi):
        most = "" if found.limit is None else f", at most {found.limit:g} here"
        print_text(f"psi, the ratio of ts-n with G h: {_ratio(found.psi)}{most}.")


def _shape(header: str, parameters: Mapping[str, Any]) -> str:
    texts = {
        name: "/".join(map(_parameter, value)) if isinstance(value, list) else _parameter(value)
        for name, value in parameters.items()
    }
    if header == "Beta(a, b)":
        return ", ".join(texts.values())
    return ", ".join(f"{name}={text}" for name, text in texts.items())


def _bar(share: float, width: int = 6) -> str:
    """Draw a bar with a resolution of an eighth of a character."""
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")).ljust(width)


def _ratio(value: float) -> str:
    return "none" if math.isnan(value) else small_number(value)


def _percentage(part: float, total: float) -> str:
    """Format a share in per cent; only an exact share of 1 is shown as 100%.

    >>> _percentage(0.5, 0.8), _percentage(0.99999, 1.0), _percentage(0.3, 0.3)
    ('62.5%', '>99.9%', '100%')
    """
    if total == 0.0:
        return "."
    if part >= total * (1.0 - ROUNDING):
        return "100%"
    percent = f"{100.0 * part / total:.1f}%"
    return ">99.9%" if percent == "100.0%" else percent


def _gain(value: float) -> str:
    return small_number(value, ".3g")


def _mean(value: float) -> str:
    """Format a number in [0, 1]; 0 and 1 are distinguished from numbers close to them.

    >>> _mean(0.75), _mean(0.99999998), _mean(2e-7), _mean(1.0)
    ('0.7500', '1 - 2.0e-08', '2.0e-07', '1')
    """
    rest = 1.0 - value
    if rest >= 1e-3:
        return small_number(value)
    return f"1 - {rest:.1e}" if rest > 1e-14 else "1"  # a smaller rest is rounding


def _parameter(value: float) -> str:
    short = f"{value:g}"
    return short if float(short) == value else f"{value:.10g}"


def _accuracy(found: Inspection) -> str:
    from graphbandits.posteriors.one_dimensional import LEAST_VALUE

    if found.accuracy["estimate"] is None:
        return "The posterior does not estimate the accuracy of these numbers."
    tiny = any(0.0 < value < LEAST_VALUE for value in (*found.alpha, *found.delta, *found.h))
    above = f" above {LEAST_VALUE:g}" if tiny else ""
    estimate = f"{found.accuracy['estimate']:.0e}"
    return f"P(best), regret and h: relative accuracy {estimate}{above} (estimated)."


def graph(
    text: Annotated[str, typer.Argument(help=_common.GRAPH_HELP, metavar="GRAPH")],
    arms: _common.Arms = None,
    horizon: Annotated[
        int | None, number("Number of rounds for the regret bounds. Default: 1000.")
    ] = None,
    time_limit: Annotated[
        float | None,
        seconds(
            "Time limit of the search for each graph number. Default: 5. When the time is up, the "
            "proved lower and upper bounds are shown."
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        option("FILE", "Draw the graph with coloured cliques to a .png, .svg or .pdf file."),
    ] = None,
    plugin: _common.Plugin = None,
    json: _common.Json = False,
) -> None:
    """Describe a graph: degrees, graph numbers, and the regret bounds that depend on them.

    Computes the clique cover number, the independence number and the (fractional) domination
    number, each with the cliques or arms that prove it. In a directed graph, the arms of a clique
    have edges in both directions.

    Example: graphbandits graph "edges(1-2 1-3 2-3 3-4 3-5 4-5)" --plot paper.png
    """
    load(plugin)
    found = graphbandits.describe_graph(
        text, arms, horizon=horizon, time_limit=time_limit, plot=plot, progress=not json
    )
    if json:
        print_json(found.to_dict())
        return
    _print_numbers(found)
    _print_bounds(found)
    for file in found.files:
        print_line(f"Wrote {file}.")


def _print_numbers(description: GraphDescription) -> None:
    from graphbandits.catalogue import span

    found = description.to_dict()
    way = "directed" if found["directed"] else "undirected"
    out, back = (_degrees(found["degrees"][way]) for way in ("out", "in"))
    print_line(
        f"Graph {found['graph']}: {count(found['arms'], 'arm')}, {count(found['edges'], 'edge')} "
        f"({way}), density {found['density']:.4g}, {count(found['components'], 'component')}.\n"
        f"Degrees: {f'out {out}; in {back}' if found['directed'] else out}."
    )
    if found["note"]:
        print_text(found["note"])
    if (numbers := description.numbers) is None:
        return
    table = plain_table("", ["number", "value", "certificate"])
    cliques = [f"{{{', '.join(clique)}}}" for clique in found["clique_cover"]["certificate"]]
    table.add_row("clique cover", span(numbers.clique_cover), _shortened(cliques, " "))
    for key in ("independence", "domination"):
        arms = _shortened(found[key]["certificate"], ", ")
        table.add_row(key, span(getattr(numbers, key)), arms)
    table.add_row("fractional domination", span(numbers.fractional_domination), "")
    print_table(table)
    if not numbers.proved:
        print_text(
            f"'a to b': the search reached its time limit of {description.time_limit:g} s; the "
            f"number is at least a and at most b. Change the limit with --time-limit.\n",
            style="dim",
        )


def _print_bounds(found: GraphDescription) -> None:
    print_text(
        f"Upper bounds on the expected regret in {found.horizon} rounds, equal priors (H = log K):"
    )
    table = plain_table("", ["bound", "proved for"], ["regret"])
    table.add_column("formula")
    for bound in found.bounds:
        value = f"{bound.final:.2f}"
        if bound.final_error:
            value += f" ({bound.final_error:.2f})"
        table.add_row(bound.name, ", ".join(bound.policies), value, bound.formula)
    print_table(table)
    notes = {bound.note for bound in found.bounds}
    if any(bound.final_error for bound in found.bounds):
        notes.add("In parentheses: the standard error of an estimated bound.")
    if any(bound.final > found.horizon for bound in found.bounds):
        notes.add("A bound above the number of rounds is trivial: regret never exceeds it.")
    for note in sorted(notes - {""}):
        print_text(note, style="dim")


def _degrees(spread: dict[str, Any]) -> str:
    if spread["min"] == spread["max"]:
        return f"{spread['min']:.4g} each"
    return f"{spread['min']:.4g} to {spread['max']:.4g}, {spread['mean']:.4g} on average"


def _shortened(items: Sequence[str], between: str) -> str:
    """Join the first items, with the number of omitted items."""
    count = 1
    while count < len(items) and len(between.join(items[: count + 1])) <= CERTIFICATE_WIDTH:
        count += 1
    more = f"{between}and {len(items) - count} more" if count < len(items) else ""
    return between.join(items[:count]) + more
