"""Checks of policies."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.errors import GraphBanditsError, InputError, NeedsError
from graphbandits.graphs import as_process, from_matrix
from graphbandits.graphs.properties import GraphInfo
from graphbandits.live import Agent
from graphbandits.plugins import file_of
from graphbandits.policies import Event, Policy, Problem, View, as_policy
from graphbandits.policies.wrappers import check_restrictable
from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import name_of, text_of
from graphbandits.rng import Keys, Stream
from graphbandits.simulation.loop import decide, init_state, propose, update_state
from graphbandits.simulation.plan import Plan
from graphbandits.simulation.run import simulate
from graphbandits.testing import scenarios
from graphbandits.testing.contract import ContractViolation, check, check_form, check_text
from graphbandits.testing.scenarios import row_text, same_bits
from graphbandits.worlds import Bernoulli

#: Number of rounds of the check long-run.
LONG = 100_000


@check("policy", "form")
def form(policy: Policy) -> None:
    """The class is documented and registered, declares its needs, and round-trips through text."""
    check_form("policy", policy)
    as_policy(policy)  # checks methods and needs
    if not isinstance(policy.exact, bool):
        raise ContractViolation(
            f"exact must be True (propose returns a distribution) or False, not {policy.exact!r}"
        )
    check_text("policy", policy)


@check("policy", "state")
def state_is_plain_arrays(policy: Policy) -> None:
    """The state is a dict of named arrays of numbers, each with one row per trial.

    Names, shapes and types never change after init.
    """
    for scenario in scenarios.ordinary_scenarios(policy):
        forms: list[dict[str, str]] = []  # of all states; the first is that of init

        def check_same(state: State, forms: list[dict[str, str]] = forms) -> None:
            scenarios.check_state(state, 3)
            forms.append({name: f"{v.dtype} of shape {v.shape}" for name, v in state.items()})
            if forms[-1] != forms[0]:
                raise ContractViolation(
                    f"init returned {forms[0]}, but round {len(forms) - 1} {forms[-1]}: names, "
                    "shapes and types of the state must not change, because it is saved and loaded"
                )

        scenario.run(policy, Keys(11, 1, 3), on_state=check_same)


@check("policy", "simplex")
def simplex(policy: Policy) -> None:
    """propose returns a distribution over the arms for each trial."""
    for scenario in scenarios.ordinary_scenarios(policy):
        for t, pi in enumerate(scenario.run(policy, Keys(12, 1, 3)), 1):
            if pi.dtype.kind != "f":
                raise ContractViolation(
                    f"{scenario.name}: in round {t} pi has the type {pi.dtype}: return floats"
                )


@check("policy", "propose-leaves-state")
def propose_leaves_the_state(policy: Policy) -> None:
    """propose does not change the state, and a second call returns the same."""
    before: State = {}

    def copy_state(state: State, view: Any) -> None:
        before.clear()
        before.update({name: np.array(value) for name, value in state.items()})

    def propose_again(state: State, view: Any, pi: Floats) -> None:
        _check_untouched(before, state, view.t)
        again = propose(policy, state, view)
        if not same_bits(pi, again):
            raise ContractViolation(
                f"two calls of propose in round {view.t} differ: keep no data outside of the "
                "state, and draw with view.random only"
            )
        _check_untouched(before, state, view.t)

    for scenario in scenarios.ordinary_scenarios(policy):
        scenario.run(policy, Keys(13, 1, 3), before_propose=copy_state, after_propose=propose_again)


@check("policy", "declared-needs")
def declared_needs(policy: Policy) -> None:
    """It uses only what it declares in needs: of the graph and the horizon."""
    graph = scenarios.Forbidden("the graph before its decision", "Needs(graph='before')")
    later = scenarios.Forbidden("the graph", "Needs(graph='after')")
    horizon = scenarios.Forbidden("the horizon", "Needs(horizon=True)")

    def hide_horizon(problem: Any) -> Any:
        return problem if policy.needs.horizon else replace(problem, _horizon=horizon)

    def hide_view(view: Any) -> Any:
        view = replace(view, problem=hide_horizon(view.problem))
        return view if policy.needs.graph == "before" else scenarios.without(view, graph)

    def hide_event(event: Any) -> Any:
        event = replace(event, problem=hide_horizon(event.problem))
        return scenarios.without(event, later) if policy.needs.graph == "never" else event

    for scenario in scenarios.ordinary_scenarios(policy):
        hooks: dict[str, Any] = {
            "replace_problem": hide_horizon,
            "replace_view": hide_view,
            "replace_event": hide_event,
        }
        try:
            scenario.run(policy, Keys(14, 1, 2), **hooks)
        finally:
            for forbidden in (graph, later, horizon):
                forbidden.raise_if_used()


@check("policy", "own-randomness")
def own_randomness(policy: Policy) -> None:
    """It draws with view.random and event.random only, not with global generators."""
    for scenario in scenarios.ordinary_scenarios(policy):
        scenarios.same_with_other_globals(
            partial(scenario.run, policy, Keys(15, 1, 2)),
            f"{scenario.name}: ",
            "view.random(purpose)",
        )


@check("policy", "batch")
def batch_equals_one_by_one(policy: Policy) -> None:
    """Trials are independent: a block gives each trial the same bits as alone."""
    for scenario in scenarios.ordinary_scenarios(policy):
        block = scenario.run(policy, Keys(16, 3, 5))
        for trial in range(5):
            alone = scenario.run(policy, Keys(16, 3 + trial, 1))
            for t, (many, one) in enumerate(zip(block, alone, strict=True), 1):
                if not same_bits(many[trial], one[0]):
                    raise ContractViolation(
                        f"{scenario.name}, round {t}: it proposed {row_text(many[trial])} in a "
                        f"block of 5 trials, but {row_text(one[0])} for the same trial alone"
                    )


@check("policy", "block-workers-order")
def same_however_it_runs(policy: Policy) -> None:
    """Regret is bitwise the same for any block size, number of workers and order of policies.

    The regret of another policy does not depend on whether it runs before or after.
    """
    other = as_policy("ts-n-sampled" if name_of(policy) == "ts-n" else "ts-n")
    name = text_of(policy)
    ways: dict[str, dict[str, Any]] = {
        "one block": {},
        "blocks of 1": {"block": 1},
        "blocks of 3 on 2 threads": {"block": 3, "workers": 2, "parallel": "threads"},
        "after another policy": {"policies": [other, policy]},
        "before another policy": {"policies": [policy, other], "block": 4},
    }
    if file_of(policy) is not None:
        ways["blocks of 5 on 2 processes"] = {"block": 5, "workers": 2, "parallel": "processes"}
    for number in range(len(scenarios.ordinary_scenarios(policy)[:3])):
        first: dict[str, Floats] = {}
        for way, options in ways.items():
            # created again, in case the policy modifies the graph
            scenario = scenarios.ordinary_scenarios(policy)[number]
            settings: dict[str, Any] = {"policies": [policy], "block": 100, "seed": 17} | options
            result = simulate(
                **settings,
                world=Bernoulli(scenario.prior),
                graph=scenario.process,
                horizon=25,
                trials=10,
                progress=False,
            )
            for text in result.policies:
                if same_bits(first.setdefault(text, result[text].final), result[text].final):
                    continue
                if text == name:
                    raise ContractViolation(
                        f"{scenario.name}: the regret with {way} differs from that in one block"
                    )
                raise ContractViolation(
                    f"{scenario.name}: the regret of '{text}' changes if it runs after this "
                    "policy: do not modify the graph or any other shared data"
                )
        ways.pop("blocks of 5 on 2 processes", None)  # once is enough: processes start slowly


@check("policy", "relabelling")
def relabelling(policy: Policy) -> None:
    """Renumbering the arms permutes the proposal in the same way (ties excluded)."""
    matrix = (
        scenarios.directed_ranks() if policy.needs.deterministic else scenarios.directed_weights()
    )
    process, prior = from_matrix(matrix), scenarios.asymmetric_prior(4)
    place = np.array([2, 0, 3, 1])
    trials = 12 if policy.exact else 3000
    rounds = 80 if policy.exact else 60
    history = scenarios.History.of(matrix, trials=trials, rounds=rounds, alike=not policy.exact)
    here = scenarios.replay(policy, history, process, prior)
    there = scenarios.replay(
        policy,
        history.relabelled(place),
        scenarios.relabelled(process, place),
        _moved(prior, place),
    )
    for t, (one, two, tied) in enumerate(zip(here, there, history.ties(), strict=True), 1):
        mine, its = one[~tied], two[~tied][:, place]
        if not policy.exact and len(mine):
            mine, its = mine.mean(axis=0, keepdims=True), its.mean(axis=0, keepdims=True)
            differ = scenarios.frequencies_differ(mine, its, trials)
        else:
            differ = bool((np.abs(mine - its) > 1e-9).any())
        if differ:
            worst = np.abs(mine - its).max(axis=1).argmax()
            did = "proposed" if policy.exact else f"played over {trials} trials"
            raise ContractViolation(
                f"round {t} of a given history: it {did} {row_text(mine[worst])}, but "
                f"{row_text(its[worst])} with renumbered arms: do not use the number of an arm (no "
                "two arms have equal counts or means here)"
            )


@check("policy", "save-load")
def saved_and_loaded(policy: Policy) -> None:
    """A saved agent, with open decisions, continues bitwise the same after loading."""
    arms = ["ann", "bob lee", "Zoë", "joe"]
    prior = scenarios.asymmetric_prior(4)
    agent = Agent(policy, arms, "path(directed=true)", seed=18, horizon=60, prior=prior, trial=3)
    rewards = Stream(Keys(18, 0, 60), 1, "testing/save").uniform(4) < 0.6

    left_open = []

    def play(one: Agent, rounds: range) -> list[Floats]:
        pis = []
        for t in rounds:
            decision = one.decide()
            pi = np.zeros(len(arms))
            for arm, chance in (decision.pi or {decision.arm: 1.0}).items():
                pi[arms.index(str(arm))] = chance
            pis.append(pi)
            if t % 3:  # every third decision stays open
                seen = {arm: int(rewards[t, arms.index(str(arm))]) for arm in decision.reveals}
                one.observe(decision, seen)
            else:
                left_open.append(decision)
        return pis

    play(agent, range(20))
    proposals = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "agent.db")
        agent.save(place)
        try:
            saved = Agent(store=place)
            saved.compact()  # the next one starts from a snapshot, not from the entries
            saved.disconnect()
            saved = Agent(store=place)
        except GraphBanditsError as error:
            raise ContractViolation(
                f"an agent saved after round 20 cannot be loaded: {error}"
            ) from error
        for one in (agent, saved):
            pis = play(one, range(20, 30))
            # a delayed observation, and a decision without any observation
            one.observe(left_open[0], dict.fromkeys(left_open[0].reveals, 0))
            one.observe(left_open[1], {})
            proposals.append(pis + play(one, range(30, 40)))
        saved.disconnect()
    for t, (mine, its) in enumerate(zip(*proposals, strict=True), 21):
        if not same_bits(mine, its):
            raise ContractViolation(
                f"an agent loaded after round 20 proposed {row_text(its)} in round {t} instead of "
                f"{row_text(mine)}: keep no data outside of the state"
            )


@check("policy", "pieces")
def learns_in_pieces(policy: Policy) -> None:
    """Outcomes of a decision that come one by one have the effect of all at once."""
    if getattr(policy, "incremental", False) and not hasattr(policy, "learn"):
        raise ContractViolation(
            "a policy with incremental = True needs a method learn(state, seen, problem)"
        )
    prior, keys = scenarios.asymmetric_prior(4), Keys(23, 0, 40)
    rewards = Stream(keys, 1, "testing/pieces").uniform(4) < 0.6
    agents = [
        Agent(policy, 4, "path(directed=true)", seed=23, horizon=60, prior=prior) for _ in range(2)
    ]
    for t in range(40):
        whole, parts = (agent.decide() for agent in agents)
        if (whole.arm, whole.pi) != (parts.arm, parts.pi):
            raise ContractViolation(
                f"after outcomes one by one it proposed {parts.pi or parts.arm} in round {t + 1}, "
                f"and after the same outcomes at once {whole.pi or whole.arm}: remove "
                "incremental = True, or let update work with a part of the observations"
            )
        seen = {arm: int(rewards[t, int(arm)]) for arm in whole.reveals}
        agents[0].observe(whole, seen)
        for arm in reversed(seen):
            agents[1].observe(parts, {arm: seen[arm]}, partial=True)
        agents[1].close(parts)


@check("policy", "degenerate")
def degenerate(policy: Policy) -> None:
    """It works with one arm, two arms, equal arms, no edges, all edges, r of 0 and 1."""
    for scenario in scenarios.degenerate_scenarios(policy):
        scenario.run(policy, Keys(19, 1, 3))


@check("policy", "refused-in-time")
def refused_in_time(policy: Policy) -> None:
    """A problem that does not meet the needs is rejected before the run; all others work.

    The error lists policies that are suitable.
    """
    needs = policy.needs
    hidden = "random(r=0.35, graph_known=never)"
    problems: dict[str, tuple[bool, dict[str, Any]]] = {
        "random(r=0.35)": (needs.deterministic, {"graph": "random(r=0.35)", "arms": 6}),
        hidden: (needs.deterministic or needs.graph != "never", {"graph": hidden, "arms": 6}),
        "a graph that changes": (needs.fixed, {"graph": "revealed-er(p=0.4)", "arms": 4}),
        "an unknown horizon": (needs.horizon, {"graph": "star(direction=out)", "arms": 4}),
    }
    for problem, (lacks, given) in problems.items():
        met = not lacks
        given |= {} if problem == "an unknown horizon" else {"horizon": 30}
        try:
            agent = Agent(policy, seed=20, **given)
            for t in range(30):  # rewards that do not contradict the prior
                decision = agent.decide()
                agent.observe(decision, dict.fromkeys(list(decision.reveals)[:2], t % 2))
        except NeedsError as error:
            if met or "suitable policies" not in str(error):
                raise
            continue
        except Exception as error:
            raise ContractViolation(
                f"it failed with {problem} ({error}): declare what it requires in needs; the "
                "problem is then rejected before the run"
            ) from error
        if not met:
            raise ContractViolation(f"{problem} does not meet its needs, but was not rejected")


@check("policy", "eligible")
def restricted_to_eligible_arms(policy: Policy) -> None:
    """With eligible arms, it proposes a distribution over them, or it declares that it cannot.

    A policy whose state is the posterior plays as in the problem that has these arms only.
    """
    if not getattr(policy, "restrictable", True):
        try:
            Plan.of(policy, graph="star", arms=4, horizon=30, trials=1, eligible=0.5)
        except NeedsError as error:
            if "suitable policies" in str(error):
                return
        raise ContractViolation("it declares restrictable = False, but it was not rejected")
    problem = Problem(
        scenarios.asymmetric_prior(4), 40, policy.needs, GraphInfo(as_process("star", 4))
    )
    try:
        scenarios.check_state(init_state(policy, problem, Keys(26, 1, 3)), 3)
    except ContractViolation:
        return  # the check of the state reports it
    try:
        check_restrictable(policy, problem)
    except InputError as error:
        raise ContractViolation(str(error)) from error
    for scenario in scenarios.ordinary_scenarios(policy):
        left_out = np.arange(scenario.horizon) % scenario.process.arms
        eligible = left_out[:, None] != np.arange(scenario.process.arms)
        scenario.run(policy, Keys(26, 1, 3), eligible)
    _check_restricted_posterior(policy)


def _check_restricted_posterior(policy: Policy) -> None:
    """Compare with proposals for the problem that has only the eligible arms."""
    matrix = (
        scenarios.directed_ranks() if policy.needs.deterministic else scenarios.directed_weights()
    )
    process, prior = from_matrix(matrix), scenarios.asymmetric_prior(4)
    history = scenarios.History.of(matrix, trials=3, rounds=12, alike=False)
    keys = Keys(27, 1, 3)
    problem = Problem(prior, 12, policy.needs, GraphInfo(process))
    state = init_state(policy, problem, keys)
    if state.keys() != prior.init(3).keys():
        return  # only the posterior of the eligible arms is known to be their state
    arms = np.array([0, 2, 3])
    part = from_matrix(matrix[np.ix_(arms, arms)])
    small = Problem(BetaBernoulli(prior.a[arms], prior.b[arms]), 12, policy.needs, GraphInfo(part))
    for t in range(1, 13):
        graph, eligible = process.round(t, keys), np.isin(np.arange(4), arms)[None]
        pi, _ = decide(policy, state, View(t, keys, problem, graph, eligible))
        some = {name: np.take(values, arms, axis=1) for name, values in state.items()}
        alone = propose(policy, some, View(t, keys, small, part.round(t, keys)))
        if not same_bits(pi[:, arms], alone):
            raise ContractViolation(
                f"round {t} of a given history: it proposed {row_text(pi[0, arms])} for the "
                f"eligible arms {arms.tolist()} of 4, but {row_text(np.asarray(alone)[0])} in the "
                "problem that has these arms only"
            )
        action, seen = history.action[t - 1], history.observations(t - 1)
        state = update_state(policy, state, Event(t, keys, problem, graph, pi, action, seen))


@check("policy", "long-run")
def finite_after_a_long_run(policy: Policy) -> None:
    """After 100,000 rounds it still proposes a distribution, and its state is finite."""
    state = scenarios.long_run(policy, LONG)
    for name, value in state.items():
        if not np.isfinite(np.asarray(value, np.float64)).all():
            raise ContractViolation(f"state['{name}'] is not finite after {LONG:,} rounds")


@check("policy", "beats-uniform")
def beats_uniform(policy: Policy) -> None:
    """With one arm far better than the others, the regret is below that of uniform play."""
    means = np.array([0.1, 0.2, 0.9, 0.15])
    world = Bernoulli(BetaBernoulli.of(4), fixed=means)
    horizon, trials = 400, 40
    result = simulate(
        policy,
        world,
        "ring(directed=true)",
        horizon=horizon,
        trials=trials,
        seed=21,
        progress=False,
    )[text_of(policy)]
    at_random = horizon * (means.max() - means.mean())
    if not result.mean[-1] + 4 * result.standard_error[-1] < at_random:
        raise ContractViolation(
            f"on arms with the means {row_text(means)} its regret is {result.mean[-1]:.1f} after "
            f"{horizon} rounds; that of uniform play is {at_random:.1f}"
        )


def _check_untouched(before: State, state: State, t: int) -> None:
    if state.keys() != before.keys():
        changed = ", ".join(sorted(state.keys() ^ before.keys()))
        raise ContractViolation(
            f"propose added or removed {changed} in round {t}: change the state in update only"
        )
    for name, value in before.items():
        if not same_bits(value, state[name]):
            raise ContractViolation(
                f"propose modified state['{name}'] in round {t}: change the state in update only"
            )


def _moved(prior: BetaBernoulli, place: Any) -> BetaBernoulli:
    a, b = np.empty(prior.arms), np.empty(prior.arms)
    a[place], b[place] = prior.a, prior.b
    return BetaBernoulli(a, b)
