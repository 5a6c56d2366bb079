"""``graphbandits inspect``: one decision laid open."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.table import Table

from graphbandits.cli.show import announce_compilation, plain_console, print_json
from graphbandits.errors import InputError
from graphbandits.gains import joint_gain, sampled_gain
from graphbandits.graphs import Feedback, Fixed, Uniform, make_process
from graphbandits.policies.bayesian import GAINS, Bayesian, Informed
from graphbandits.posteriors import BetaBernoulli
from graphbandits.posteriors.beta_bernoulli import LEAST_VALUE, beta_pair
from graphbandits.registry import registered
from graphbandits.rng import Keys
from graphbandits.theory import information_ratio, ratio_limit
from graphbandits.types import Floats

#: Of the statistics: one decision may take its time.
ACCURACY = "strict"
#: Differences of gains below this are rounding, relatively.
ROUNDING = 1e-9
#: Cliques of larger graphs are not counted here, where one waits.
MOST_COVERED = 500


def run(betas: list[str], graph: str, samples: int | None, seed: int, as_json: bool) -> None:
    """Print the decision as a table or a JSON object."""
    parameters = [_pair(text) for text in betas]
    decision = lay_open(parameters, graph, samples, seed)
    if as_json:
        print_json(decision)
    else:
        _print_table(decision, parameters, graph)


def lay_open(
    parameters: list[tuple[float, float]], graph: str, samples: int | None = None, seed: int = 0
) -> dict[str, Any]:
    """Statistics, gains, plays and information ratios of one decision, as plain numbers.

    A graph that changes from round to round is taken as it is in round 1 of trial 0, seed 0. The
    joint gain is None, with a reason, where it is not affordable; with ``samples`` it is estimated.

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
    announce_compilation("a minute")
    state = posterior.init(trials=1)
    beliefs = posterior.beliefs(state, estimate=True)
    assert beliefs.error is not None  # it was asked for
    feedback = process.round(1, Keys(seed=0))
    gains = {"bound": feedback.gain(beliefs.h)}
    reason = None
    try:
        gains["joint"] = joint_gain(posterior, state, feedback)
    except InputError as error:
        reason = str(error)
    plays = {}
    for name, policy in registered("policy").items():
        if issubclass(policy, Bayesian):
            choices = GAINS if issubclass(policy, Informed) else GAINS[:1]
            for choice in (choice for choice in choices if choice in gains):
                text = name if choice == "bound" else f"{name}(gain={choice})"
                plays[text] = policy.rule(beliefs.alpha, beliefs.delta, beliefs.h, gains[choice])
    ratios = {
        choice: {
            name: float(information_ratio(pi, beliefs.delta, gain)[0]) for name, pi in plays.items()
        }
        for choice, gain in gains.items()
    }
    listed = {choice: gain[0].tolist() for choice, gain in gains.items()}
    reachable = isinstance(feedback, Uniform) or process.arms <= MOST_COVERED
    return {
        "arms": list(process.names or (str(i + 1) for i in range(process.arms))),
        "alpha": beliefs.alpha[0].tolist(),
        "delta": beliefs.delta[0].tolist(),
        "h": beliefs.h[0].tolist(),
        "rho": float(beliefs.rho[0]),
        "accuracy": {"setting": ACCURACY, "estimate": float(beliefs.error[0])},
        "gain": {"joint": None} | listed | ({"reason": reason} if reason else {}),
        "pi": {name: pi[0].tolist() for name, pi in plays.items()},
        "ratio": ratios["bound"],
        "joint_ratio": ratios.get("joint"),
        "psi": float(information_ratio(beliefs.alpha, beliefs.delta, gains["bound"])[0]),
        "limit": float(ratio_limit(feedback)[0]) if reachable else None,
    } | _sampled(a, b, feedback, samples, seed)


def _sampled(
    a: Floats, b: Floats, feedback: Feedback, samples: int | None, seed: int
) -> dict[str, Any]:
    if samples is None:
        return {}
    posterior = BetaBernoulli(a, b)
    found = sampled_gain(posterior, posterior.init(trials=1), feedback, samples, seed)
    value, error = found.value[0].tolist(), found.standard_error[0].tolist()
    return {"sampled": {"samples": samples, "seed": seed, "gain": value, "standard_error": error}}


def _pair(text: str) -> tuple[float, float]:
    try:
        return beta_pair(text)
    except InputError:
        raise InputError(
            f"--beta takes two numbers A,B such as 3,7 (successes and failures, the prior "
            f"counted in), not '{text}'"
        ) from None


def _print_table(
    decision: dict[str, Any], parameters: list[tuple[float, float]], graph: str
) -> None:
    console = plain_console()
    bound, joint = decision["gain"]["bound"], decision["gain"]["joint"]
    exact = ("g", "G h/g") if joint else ("",)
    shapes = [f"{_parameter(a)}, {_parameter(b)}" for a, b in parameters]
    roomy = max(map(len, shapes)) <= len("Beta(a, b)")  # long ones need the place of the bars
    bars = ("",) if roomy else ()
    believed = _table("arm", "Beta(a, b)", "P(best)", *bars, "regret", "h", "G h", *exact)
    played = _table("arm", *(name.replace("(gain=joint)", "\n(joint)") for name in decision["pi"]))
    most = max(bound) or 1.0
    for i in range(len(parameters)):
        believed.add_row(
            decision["arms"][i],
            shapes[i],
            _number(decision["alpha"][i]),
            *((_bar(decision["alpha"][i]),) if roomy else ()),
            _number(decision["delta"][i]),
            _number(decision["h"][i], ".3g"),
            _number(bound[i], ".3g"),
            *(
                (_number(joint[i], ".3g"), _share(bound[i], joint[i]))
                if joint
                else (_bar(bound[i] / most),)
            ),
        )
        played.add_row(decision["arms"][i], *(_play(pi[i]) for pi in decision["pi"].values()))
    played.add_section()
    for label, key in (("ratio", "ratio"), ("by g", "joint_ratio")):
        if decision[key] is not None:
            played.add_row(label, *map(_ratio, decision[key].values()))
    console.print(f"Graph {graph}. The best arm's mean is expected at {_mean(decision['rho'])}.")
    if not isinstance(make_process(graph, len(parameters)), Fixed):
        console.print("This graph changes: here it is as in round 1 of trial 0, seed 0.")
    console.print(believed)
    console.print(
        "regret: expected loss of playing the arm. h: information about the best arm\n"
        "in its own outcome, in nats. G h: the sum of that over all that playing it\n"
        f"shows{'; g: in all of it together' if joint else ''}.\n{_accuracy(decision)}\n",
        style="dim",
    )
    if joint is None:
        console.print(
            f"No g: {decision['gain']['reason']}"
            + ("\n" if "sampled" in decision else " (here: --samples 1000)\n")
        )
    if "sampled" in decision:
        _print_sampled(decision)
    console.print(
        "Probability of each play; ratio is (expected regret)² / (expected information)"
        + (",\nby G h and by g; (joint) plays by g." if joint else ".")
    )
    console.print(played)
    if not np.isnan(decision["psi"]):
        most_psi = "" if decision["limit"] is None else f", at most {decision['limit']:g} here"
        console.print(f"psi, the ratio of ts-n by G h: {_ratio(decision['psi'])}{most_psi}.")


def _print_sampled(decision: dict[str, Any]) -> None:
    console = plain_console()
    sampled = decision["sampled"]
    table = _table("arm", "g, estimated", "standard error")
    pairs = zip(sampled["gain"], sampled["standard_error"], strict=True)
    for arm, (value, error) in zip(decision["arms"], pairs, strict=True):
        table.add_row(arm, _number(value, ".3g"), _number(error, ".2g"))
    console.print(
        f"g from {sampled['samples']} draws of what each arm shows, seed {sampled['seed']}."
    )
    console.print(table)


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
    return "." if probability == 0.0 else _number(probability)


def _ratio(value: float) -> str:
    return "none" if np.isnan(value) else _number(value)


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


def _accuracy(decision: dict[str, Any]) -> str:
    """How far the numbers can be trusted, in one line."""
    shown = (*decision["alpha"], *decision["delta"], *decision["h"])
    tiny = any(0.0 < value < LEAST_VALUE for value in shown)
    above = f" above {LEAST_VALUE:g}" if tiny else ""
    estimate = f"{decision['accuracy']['estimate']:.0e}"
    return f"P(best), regret and h: accurate to {estimate} relatively{above} (estimated)."
