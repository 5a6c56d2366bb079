"""``graphbandits inspect``: one decision laid open."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.table import Table

from graphbandits.cli.show import announce_compilation, plain_console, print_json
from graphbandits.errors import InputError
from graphbandits.graphs import Fixed, make_process
from graphbandits.policies.bayesian import Bayesian
from graphbandits.posteriors import BetaBernoulli
from graphbandits.posteriors.beta_bernoulli import LEAST_VALUE
from graphbandits.registry import registered
from graphbandits.rng import Keys
from graphbandits.theory import information_ratio

#: Of the statistics: one decision may take its time.
ACCURACY = "strict"


def run(betas: list[str], graph: str, as_json: bool) -> None:
    """Print the decision as a table or a JSON object."""
    parameters = [_pair(text) for text in betas]
    decision = lay_open(parameters, graph)
    if as_json:
        print_json(decision)
    else:
        _print_table(decision, parameters, graph)


def lay_open(parameters: list[tuple[float, float]], graph: str) -> dict[str, Any]:
    """Statistics, gains, plays and information ratios of one decision, as plain numbers.

    A graph that changes from round to round is taken as it is in round 1 of trial 0, seed 0.

    >>> round(lay_open([(1, 1), (1, 1)], "empty")["rho"], 12)
    0.666666666667
    """
    process = make_process(graph, len(parameters))
    if process.arms != len(parameters):
        raise InputError(
            f"the graph has {process.arms} arms, but {len(parameters)} posteriors were given: "
            "give --beta once for each arm"
        )
    a, b = np.array(parameters, np.float64).T
    posterior = BetaBernoulli(a, b, ACCURACY)
    announce_compilation()
    beliefs = posterior.beliefs(posterior.init(trials=1), estimate=True)
    assert beliefs.error is not None  # it was asked for
    gain = process.round(1, Keys(seed=0)).gain(beliefs.h)
    plays = {
        name: policy.rule(beliefs.alpha, beliefs.delta, beliefs.h, gain)
        for name, policy in registered("policy").items()
        if issubclass(policy, Bayesian)
    }
    ratios = {name: information_ratio(pi, beliefs.delta, gain) for name, pi in plays.items()}
    return {
        "arms": list(process.names or (str(i + 1) for i in range(process.arms))),
        "alpha": beliefs.alpha[0].tolist(),
        "delta": beliefs.delta[0].tolist(),
        "h": beliefs.h[0].tolist(),
        "rho": float(beliefs.rho[0]),
        "accuracy": {"setting": ACCURACY, "estimate": float(beliefs.error[0])},
        "gain": {"bound": gain[0].tolist(), "joint": None},
        "pi": {name: pi[0].tolist() for name, pi in plays.items()},
        "ratio": {name: float(ratio[0]) for name, ratio in ratios.items()},
    }


def _pair(text: str) -> tuple[float, float]:
    try:
        a, b = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--beta takes two numbers A,B such as 3,7 (successes and failures, the prior "
            f"counted in), not '{text}'"
        ) from None
    return a, b


def _print_table(
    decision: dict[str, Any], parameters: list[tuple[float, float]], graph: str
) -> None:
    console = plain_console()
    believed = _table("arm", "Beta(a, b)", "P(best)", "", "regret", "h", "G h", "")
    played = _table("arm", *decision["pi"])
    most = max(decision["gain"]["bound"]) or 1.0
    for i, (a, b) in enumerate(parameters):
        believed.add_row(
            decision["arms"][i],
            f"{_parameter(a)}, {_parameter(b)}",
            _number(decision["alpha"][i]),
            _bar(decision["alpha"][i]),
            _number(decision["delta"][i]),
            _number(decision["h"][i], ".3g"),
            _number(decision["gain"]["bound"][i], ".3g"),
            _bar(decision["gain"]["bound"][i] / most),
        )
        played.add_row(decision["arms"][i], *(_play(pi[i]) for pi in decision["pi"].values()))
    played.add_section()
    ratios = ("none" if np.isnan(r) else _number(r) for r in decision["ratio"].values())
    played.add_row("ratio", *ratios)
    console.print(f"Graph {graph}. The best arm's mean is expected at {_mean(decision['rho'])}.")
    if not isinstance(make_process(graph, len(parameters)), Fixed):
        console.print("This graph changes: here it is as in round 1 of trial 0, seed 0.")
    console.print(believed)
    console.print(
        "regret: expected loss of playing the arm. h: information about the best arm\n"
        "in its own outcome, in nats. G h: in all that playing it shows.\n"
        f"{_accuracy(decision)}\n",
        style="dim",
    )
    console.print("Probability of each play; ratio is (expected regret)² / (expected information).")
    console.print(played)


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
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


def _play(probability: float) -> str:
    return "." if probability == 0.0 else f"{_number(probability)} {_bar(probability, 5)}"


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


def _accuracy(decision: dict[str, Any]) -> str:
    """How far the numbers can be trusted, in one line."""
    shown = (*decision["alpha"], *decision["delta"], *decision["h"])
    tiny = any(0.0 < value < LEAST_VALUE for value in shown)
    above = f" above {LEAST_VALUE:g}" if tiny else ""
    return f"Accurate to {decision['accuracy']['estimate']:.0e} relatively{above} (estimated)."
