"""``graphbandits inspect`` and ``graph``: analyse a decision or a graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import graphbandits
from graphbandits.cli import _ui
from graphbandits.errors import InputError

if TYPE_CHECKING:
    from graphbandits.catalogue import GraphDescription
    from graphbandits.theory import Inspection, PriorInspection

#: Longest certificate on the terminal, in characters. JSON has the full certificate.
CERTIFICATE_WIDTH = 48


def inspect(
    beta: Annotated[
        list[str] | None,
        _ui.option("A,B", "Posterior Beta(A,B) of an arm, as A,B; repeat once per arm."),
    ] = None,
    posterior: Annotated[
        str | None,
        _ui.option("POSTERIOR", "Posterior with shared parameters, such as normal(noise=1)."),
    ] = None,
    arm: Annotated[
        list[str] | None,
        _ui.option("PARAMETERS", "Parameters of an arm, such as mean=0.3,sd=0.2; once per arm."),
    ] = None,
    graph: Annotated[str | None, _ui.option("GRAPH", _ui.GRAPH_HELP)] = None,
    prior: Annotated[
        str | None,
        _ui.option("PRIOR", "Show the rewards that a prior, such as normal(sd=1), expects."),
    ] = None,
    arms: Annotated[
        int | None, _ui.number("With --prior: number of arms of which the best is considered.")
    ] = None,
    samples: Annotated[
        int | None, _ui.option("N", "Also estimate the joint gain g from N random draws.")
    ] = None,
    seed: Annotated[
        int | None, _ui.option("N", "Seed of the random draws of --samples. Default: 0.")
    ] = None,
    plugin: _ui.Plugin = None,
    json: _ui.Json = False,
) -> None:
    """Analyse one decision: beliefs, information gain of each arm, and the play of each policy.

    With --prior, show the means and rewards that a prior expects.

    Example: graphbandits inspect --beta 1,2 --beta 4,4 --beta 12,9 --graph star
    """
    _ui.load(plugin)
    if prior is not None:
        if beta or arm or posterior or graph or samples:
            raise InputError("--prior cannot be combined with options for a decision: remove them")
        expected = graphbandits.inspect_prior(
            prior, arms=5 if arms is None else arms, seed=seed or 0
        )
        if json:
            _ui.print_json(expected.to_dict())
        else:
            _print_prior(expected)
        return
    if arms is not None:
        raise InputError("--arms is for --prior: the number of arms is that of --beta or --arm")
    if not (beta or (posterior and arm)) or (beta and (posterior or arm)) or graph is None:
        raise InputError(
            "a decision needs arms and a graph: give --beta A,B once per arm, or --posterior with "
            "--arm once per arm, and --graph, such as --graph star"
        )
    found = graphbandits.inspect_decision(
        beta or arm or [],
        graph,
        posterior=posterior or "beta-bernoulli",
        samples=samples,
        seed=seed or 0,
        progress=True,
    )
    if json:
        _ui.print_json(found.to_dict())
        return
    _print_beliefs(found, graph)
    _print_plays(found)


def _print_prior(found: PriorInspection) -> None:
    _ui.print_text(f"Prior {found.posterior}, rewards: {found.rewards}.")
    levels = [f"{level:.1%}" for level in found.levels]
    quantiles = {"mean of an arm": found.mean_quantiles, "a reward": found.reward_quantiles}
    records = [
        {"quantile": what} | dict(zip(levels, values, strict=True))
        for what, values in quantiles.items()
    ]
    _ui.print_records("", records)
    if found.probabilities is not None:
        _ui.print_records("", [{"reward": "probability"} | found.probabilities])
    _ui.print_text(
        f"Expected mean of an arm: {found.mean:.4g}; of the best of {found.arms} arms: "
        f"{found.best:.4g}. Standard deviation of a reward: {found.reward_sd:.4g}.\n"
        f"Rewards: estimated from {found.draws:,} draws, seed {found.seed}."
    )


def _print_beliefs(found: Inspection, graph: str) -> None:
    bound, joint = found.gain["bound"], found.gain["joint"]
    header = "Beta(a, b)" if found.posterior == "beta-bernoulli" else found.posterior
    records = []
    for i, arm in enumerate(found.arms):
        record = {
            "arm": arm,
            header: _shape(header, found.parameters[i]),
            "P(best)": _ui.small_number(found.alpha[i]),
            "regret": _ui.small_number(found.delta[i]),
            "h": _gain(found.h[i]),
            "G h": _gain(bound[i]),
        }
        if joint:
            record |= {"g": _gain(joint[i]), "G h/g": _percentage(bound[i], joint[i])}
        records.append(record)
    _ui.print_text(f"Graph {graph}. Expected mean of the best arm: {_ui.small_number(found.rho)}.")
    if found.changes:
        _ui.print_text("The graph changes over time; this is round 1 of trial 0 with seed 0.")
    _ui.print_records("", records)
    joint_text = "g: information in all revealed outcomes jointly.\n" if joint else ""
    _ui.print_text(
        "regret: expected loss of playing the arm. h: information about the best arm\n"
        "in the outcome of the arm, in nats. G h: sum of h over all revealed arms.\n"
        f"{joint_text}{_accuracy(found)}\n",
        style="dim",
    )
    sampled = found.sampled
    if joint is None:
        hint = " (for example --samples 1000)\n" if sampled is None else "\n"
        _ui.print_text(f"No g: {found.gain['reason']}{hint}")
    if sampled is not None:
        _ui.print_text(
            f"g estimated from {sampled['samples']} draws of the outcomes, seed {sampled['seed']}."
        )
        gains = zip(found.arms, sampled["gain"], sampled["standard_error"], strict=True)
        _ui.print_records(
            "",
            [
                {"arm": arm, "g, estimated": _gain(gain), "standard error": _gain(error)}
                for arm, gain, error in gains
            ],
        )


def _print_plays(found: Inspection) -> None:
    names = {name: name.replace("(gain=joint)", "\n(joint)") for name in found.pi}
    records = [{"arm": arm} for arm in found.arms]
    for name, pi in found.pi.items():
        for record, play in zip(records, pi, strict=True):
            record[names[name]] = "." if play == 0.0 else _ui.small_number(play)
    for label, ratios in (("ratio", found.ratio), ("with g", found.joint_ratio)):
        if ratios is not None:
            cells = {names[name]: _ratio(value) for name, value in ratios.items()}
            records.append({"arm": label} | cells)
    _ui.print_text(
        "Probability of each play. ratio: (expected regret)² / (expected information)"
        + (",\nwith G h and with g. (joint): policies that use g." if found.joint_ratio else ".")
    )
    _ui.print_records("", records)
    if not math.isnan(found.psi):
        most = "" if found.limit is None else f", at most {found.limit:g} here"
        _ui.print_text(f"psi, the ratio of ts-n with G h: {_ratio(found.psi)}{most}.")


def _shape(header: str, parameters: Mapping[str, Any]) -> str:
    texts = {
        name: "/".join(f"{one:.10g}" for one in (value if isinstance(value, list) else [value]))
        for name, value in parameters.items()
    }
    if header == "Beta(a, b)":
        return ", ".join(texts.values())
    return ", ".join(f"{name}={text}" for name, text in texts.items())


def _ratio(value: float) -> str:
    return "none" if math.isnan(value) else _ui.small_number(value)


def _percentage(part: float, total: float) -> str:
    return "." if total == 0.0 else f"{part / total:.1%}"


def _gain(value: float) -> str:
    return _ui.small_number(value, ".3g")


def _accuracy(found: Inspection) -> str:
    from graphbandits.posteriors.one_dimensional import LEAST_VALUE

    estimate = found.accuracy["estimate"]
    if estimate is None:
        return "The posterior does not estimate the accuracy of these numbers."
    tiny = any(0.0 < value < LEAST_VALUE for value in (*found.alpha, *found.delta, *found.h))
    above = f" above {LEAST_VALUE:g}" if tiny else ""
    return f"P(best), regret and h: relative accuracy {estimate:.0e}{above} (estimated)."


def graph(
    text: Annotated[str, _ui.argument("GRAPH", _ui.GRAPH_HELP)],
    arms: _ui.Arms = None,
    horizon: Annotated[
        int | None, _ui.number("Number of rounds for the regret bounds. Default: 1000.")
    ] = None,
    time_limit: Annotated[
        float | None,
        _ui.seconds(
            "Time limit of the search for each graph number. Default: 5. When the time is up, the "
            "proved lower and upper bounds are shown."
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        _ui.option("FILE", "Draw the graph with coloured cliques to a .png, .svg or .pdf file."),
    ] = None,
    plugin: _ui.Plugin = None,
    json: _ui.Json = False,
) -> None:
    """Describe a graph: degrees, graph numbers, and the regret bounds that depend on them.

    Computes the clique cover number, the independence number and the (fractional) domination
    number, each with the cliques or arms that prove it. In a directed graph, the arms of a clique
    have edges in both directions.

    Example: graphbandits graph "edges(1-2 1-3 2-3 3-4 3-5 4-5)" --plot paper.png
    """
    _ui.load(plugin)
    found = graphbandits.describe_graph(
        text, arms, horizon=horizon, time_limit=time_limit, plot=plot, progress=not json
    )
    if json:
        _ui.print_json(found.to_dict())
        return
    _print_numbers(found)
    _print_bounds(found)
    for file in found.files:
        _ui.print_line(f"Wrote {file}.")


def _print_numbers(description: GraphDescription) -> None:
    from graphbandits.catalogue import span

    found = description.to_dict()
    way = "directed" if found["directed"] else "undirected"
    out, back = (_degrees(found["degrees"][way]) for way in ("out", "in"))
    arms, edges, components = (
        _ui.count(found[f"{what}s"], what) for what in ("arm", "edge", "component")
    )
    _ui.print_line(
        f"Graph {found['graph']}: {arms}, {edges} ({way}), density {found['density']:.4g}, "
        f"{components}.\n"
        f"Degrees: {f'out {out}; in {back}' if found['directed'] else out}."
    )
    if found["note"]:
        _ui.print_text(found["note"])
    if (numbers := description.numbers) is None:
        return
    cliques = [f"{{{', '.join(clique)}}}" for clique in found["clique_cover"]["certificate"]]
    certificates = {
        "clique cover": _shortened(cliques, " "),
        "independence": _shortened(found["independence"]["certificate"], ", "),
        "domination": _shortened(found["domination"]["certificate"], ", "),
        "fractional domination": "",
    }
    records = []
    for name, certificate in certificates.items():
        value = span(getattr(numbers, name.replace(" ", "_")))
        records.append({"number": name, "value": value, "certificate": certificate})
    _ui.print_records("", records)
    if not numbers.proved:
        _ui.print_text(
            f"'a to b': the search reached its time limit of {description.time_limit:g} s; the "
            f"number is at least a and at most b. Change the limit with --time-limit.\n",
            style="dim",
        )


def _print_bounds(found: GraphDescription) -> None:
    _ui.print_text(
        f"Upper bounds on the expected regret in {found.horizon} rounds, equal priors (H = log K):"
    )
    records = []
    for bound in found.bounds:
        error = f" ({bound.final_error:.2f})" if bound.final_error else ""
        record = {"bound": bound.name, "proved for": ", ".join(bound.policies)}
        regret = {"regret": f"{bound.final:.2f}{error}", "formula": bound.formula}
        records.append(record | regret)
    _ui.print_records("", records)
    notes = {bound.note for bound in found.bounds}
    if any(bound.final_error for bound in found.bounds):
        notes.add("In parentheses: the standard error of an estimated bound.")
    if any(bound.final > found.horizon for bound in found.bounds):
        notes.add("A bound above the number of rounds is trivial: regret never exceeds it.")
    for note in sorted(notes - {""}):
        _ui.print_text(note, style="dim")


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
