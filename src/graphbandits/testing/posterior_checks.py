"""Checks of posteriors: comparison with Bayes' rule on a grid, from the densities alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.errors import GraphBanditsError
from graphbandits.posteriors import (
    Beliefs,
    Observations,
    Ordered,
    Posterior,
    StateChecked,
    discounted,
    is_discounted,
)
from graphbandits.posteriors._capabilities import has_variance
from graphbandits.posteriors.support import reward_support
from graphbandits.rng import Keys, Stream
from graphbandits.testing._model_grid import (
    ModelGrid,
    listed_rewards,
    log_likelihood,
    outside,
    reward_draws,
)
from graphbandits.testing.contract import (
    ContractViolation,
    check,
    check_created_by_text,
    check_form,
)
from graphbandits.testing.scenarios import LEVEL, check_state, same_bits

#: Members of a posterior. ``predict`` and ``log_conditional`` replace the last two.
MEMBERS = (
    *("arms", "support", "outcomes", "init", "update", "beliefs", "mean", "quantile", "sample"),
    *("log_density", "check_reward", "draw_reward", "log_likelihood"),
)
REPLACED_BY = {"draw_reward": "predict", "log_likelihood": "log_conditional"}
#: Number of draws of the checks of random draws.
DRAWS = 4000
#: Tolerance of the statistics, in units of the scale of the means.
TOLERANCE = 1e-4


@check("posterior", "form")
def form(posterior: Posterior) -> None:
    """The class is documented and registered; its state is named arrays, one row per trial.

    It has all members of a posterior. The name with a number of arms creates a posterior.
    """
    check_form("posterior", posterior)
    missing = [
        name
        for name in MEMBERS
        if not hasattr(posterior, name) and not hasattr(posterior, REPLACED_BY.get(name, name))
    ]
    if missing:
        raise ContractViolation(f"it lacks {', '.join(missing)}: a posterior needs these members")
    check_created_by_text("posterior", posterior)
    for trials in (3, 2):
        check_state(posterior.init(trials), trials)
    state, _ = _some_history(posterior)
    check_state(state, 2)


@check("posterior", "bayes")
def bayes(posterior: Posterior) -> None:
    """update agrees with Bayes' rule on a grid: prior times likelihoods, normalised.

    The density integrates to 1. With ``log_conditional``, the likelihood of a reward is that given
    the state before it.
    """
    after, history = _some_history(posterior)
    for trial in range(2):
        grid = ModelGrid.of(posterior, after, trial)
        state = posterior.init(1)
        expected = posterior.log_density(state, grid.theta)[0]
        for one, arm, reward in _one_by_one(history, trial):
            expected[arm] += log_likelihood(posterior, state, reward, grid.theta)[arm]
            state = posterior.update(state, one)
        size = np.log(grid.cells.width)
        weight = np.exp(expected + size - (expected + size).max(axis=1, keepdims=True))
        off = np.abs(grid.mass - weight / weight.sum(axis=1, keepdims=True)).max(axis=1)
        if not (off <= 1e-9).all():
            raise ContractViolation(
                f"after {len(history)} rounds the density of arm {off.argmax()} in trial {trial} "
                f"differs from Bayes' rule (prior times likelihoods) by {off.max():.2g} at a point"
            )
        for total in (grid.total, ModelGrid.of(posterior, posterior.init(1)).total):
            if not (np.abs(total - 1.0) <= 10.0 * TOLERANCE).all():
                raise ContractViolation(
                    f"the density of arm {np.abs(total - 1.0).argmax()} integrates to "
                    f"{total[np.abs(total - 1.0).argmax()]:.6g}: log_density must be normalised"
                )


@check("posterior", "batch")
def batch_equals_one_by_one(posterior: Posterior) -> None:
    """Trials are independent: updates and statistics of a block equal those of single trials."""
    together, history = _some_history(posterior)
    for trial in range(2):
        alone = posterior.init(1)
        for seen in history:
            mine = seen.trial == trial
            some = Observations(np.zeros(mine.sum(), np.int64), seen.arm[mine], seen.reward[mine])
            alone = posterior.update(alone, some)
        for name, value in alone.items():
            if not same_bits(value[0], together[name][trial]):
                raise ContractViolation(f"state['{name}'] of a trial depends on the other trials")
        one, two = posterior.beliefs(alone), posterior.beliefs(together)
        for name in ("alpha", "delta", "h", "rho"):
            if not same_bits(getattr(one, name)[0], getattr(two, name)[trial]):
                raise ContractViolation(f"{name} of a trial depends on the other trials")
        if not same_bits(posterior.mean(alone)[0], posterior.mean(together)[trial]):
            raise ContractViolation("the mean of a trial depends on the other trials")
        medians = posterior.quantile(alone, 0.5)[0], posterior.quantile(together, 0.5)[trial]
        if not same_bits(*medians):
            raise ContractViolation("the quantile of a trial depends on the other trials")


@check("posterior", "beliefs")
def beliefs(posterior: Posterior) -> None:
    """alpha, Delta, h and rho agree with sums over a grid of the densities.

    The same holds for v, if ``beliefs`` has the argument ``variance``. If it has the argument
    ``information``, False changes h only.
    """
    able: Any = posterior
    arguments = inspect.signature(posterior.beliefs).parameters
    for state in (posterior.init(2), _some_history(posterior)[0]):
        found = able.beliefs(state, **({"variance": True} if has_variance(posterior) else {}))
        partial = able.beliefs(state, information=False) if "information" in arguments else None
        for trial in range(2):
            grid = ModelGrid.of(posterior, state, trial)
            expected = grid.statistics()
            if not has_variance(posterior):
                del expected["v"]
            _compare_beliefs(found, expected, trial, grid.scale, "")
            if partial is not None:
                some = {name: expected[name] for name in ("alpha", "delta", "rho")}
                _compare_beliefs(partial, some, trial, grid.scale, " with information=False")


def _compare_beliefs(
    found: Beliefs, expected: dict[str, Floats], trial: int, scale: float, how: str
) -> None:
    """Raise ContractViolation if statistics of a trial differ from sums over a grid."""
    units = {"delta": scale, "rho": scale, "v": scale**2}
    for name, value in expected.items():
        mine = np.asarray(getattr(found, name)[trial])
        off = np.abs(mine - value).max() / units.get(name, 1.0)
        if not off <= TOLERANCE:
            raise ContractViolation(
                f"{name}{how} is {_format(mine)}, but sums over a grid of the density give "
                f"{_format(value)}"
            )


def _format(values: Floats) -> str:
    return np.array2string(values, precision=7, separator=", ")


@check("posterior", "mean")
def mean(posterior: Posterior) -> None:
    """mean agrees with a sum over a grid of the density."""
    for state in (posterior.init(2), _some_history(posterior)[0]):
        found = posterior.mean(state)
        for trial in range(2):
            grid = ModelGrid.of(posterior, state, trial)
            off = np.abs(found[trial] - grid.mean()) / grid.scale
            if not (off <= TOLERANCE / 4.0).all():
                arm = int(off.argmax())
                raise ContractViolation(
                    f"the mean of arm {arm} is {found[trial, arm]:.6g}, but a sum over a grid of "
                    f"the density gives {grid.mean()[arm]:.6g}"
                )


@check("posterior", "quantile")
def quantile(posterior: Posterior) -> None:
    """quantile agrees with a sum over a grid of the density.

    The levels 0 and 1 give the ends of the support; levels outside [0, 1] raise InputError.
    """
    for state in (posterior.init(2), _some_history(posterior)[0]):
        grids = [ModelGrid.of(posterior, state, trial) for trial in range(2)]
        for level in (0.001, 0.25, 0.5, 0.9, 0.999):
            found = posterior.quantile(state, level)
            share = np.concatenate([grids[i].below(found[i : i + 1]) for i in range(2)])
            off = np.abs(share - level)
            if not (off <= TOLERANCE).all():
                trial, arm = np.unravel_index(np.argmax(off), off.shape)
                raise ContractViolation(
                    f"the quantile {level:g} of arm {arm} is {found[trial, arm]:.6g}, but by a sum "
                    f"over a grid {share[trial, arm]:.6g} of the density lies below it"
                )
        for level, end in zip((0.0, 1.0), posterior.support, strict=True):
            if not (posterior.quantile(state, level) == end).all():
                raise ContractViolation(
                    f"the quantile {level:g} is not {end:g}, the end of the support"
                )
    for wrong in (-0.01, 1.01, float("nan")):
        if not _refuses(posterior.quantile, posterior.init(2), wrong):
            raise ContractViolation(
                f"quantile accepts the level {wrong:g}: raise InputError outside [0, 1]"
            )


@check("posterior", "sample")
def sample(posterior: Posterior) -> None:
    """Samples have the distribution of the density, and are reproducible.

    ``sample_order``, if it exists, has the order of the samples.
    """
    count = DRAWS
    state = {
        name: np.repeat(v[:1], count, axis=0) for name, v in _some_history(posterior)[0].items()
    }
    stream = Stream(Keys(42, 0, count), 3, "testing/sample")
    draws = posterior.sample(state, stream)
    one = {name: value[:1] for name, value in state.items()}
    if not same_bits(draws, posterior.sample(state, stream)):
        raise ContractViolation(
            "two calls of sample with the same stream differ: use only the stream for random draws"
        )
    if same_bits(draws, posterior.sample(state, replace(stream, t=4))):
        raise ContractViolation(
            "sample returns the same draws in another round: draw from the given stream"
        )
    if not same_bits(draws[7:8], posterior.sample(one, replace(stream, keys=Keys(42, 7, 1)))):
        raise ContractViolation(
            "the draws of a trial depend on the block: draw from the given stream"
        )
    # the probability below a draw is uniform; unlike the draws it has all moments
    rank = ModelGrid.of(posterior, one).below(draws) - 0.5
    off_mean = np.abs(rank.mean(axis=0)) / np.sqrt(1.0 / 12.0 / count)
    off_spread = np.abs((rank**2).mean(axis=0) - 1.0 / 12.0) / np.sqrt(1.0 / 180.0 / count)
    if not (off_mean < 6.0).all() or not (off_spread < 6.0).all():
        raise ContractViolation(
            f"over {count} draws the mean differs from the posterior by {off_mean.max():.1f} "
            f"standard errors and the variance by {off_spread.max():.1f} (of the probability "
            "below a draw)"
        )
    together = np.abs(np.triu(rank.T @ rank, 1)) * 12.0 / np.sqrt(count)
    if together.max() > 6.0:
        i, j = np.unravel_index(together.argmax(), together.shape)
        raise ContractViolation(
            f"the draws of arms {i} and {j} are correlated: use separate random numbers"
        )
    if isinstance(posterior, Ordered):
        order = np.argsort(posterior.sample_order(state, stream), axis=1)
        if (np.diff(np.take_along_axis(draws, order, axis=1), axis=1) < 0.0).any():
            raise ContractViolation(
                "sample_order has another order than the draws of sample: it must be the same"
            )


@check("posterior", "rewards")
def rewards(posterior: Posterior) -> None:
    """Drawn rewards have the distribution of the likelihood: with sum 1 and mean theta.

    Draws are those of ``predict``, or those of ``sample`` and ``draw_reward``. They are in the
    declared rewards.
    """
    support = reward_support(posterior)
    listed = listed_rewards(posterior)
    if listed is not None and not support.contains(listed).all():
        raise ContractViolation(
            f"the outcome {listed[~support.contains(listed)][0]:g} is not one of its rewards, "
            f"{support}"
        )
    for state in (posterior.init(1), _some_history(posterior)[0]):
        draws = reward_draws(posterior, state, DRAWS)
        inside = support.contains(draws)
        if draws.shape != (DRAWS, posterior.arms) or not inside.all():
            what = f"{draws[~inside][0]:g}" if not inside.all() else f"an array {draws.shape}"
            raise ContractViolation(f"it drew the reward {what}, but its rewards are {support}")
        if not same_bits(draws, reward_draws(posterior, state, DRAWS)) or same_bits(
            draws, reward_draws(posterior, state, DRAWS, t=2)
        ):
            raise ContractViolation(
                "rewards are not a function of the given random numbers: use these only"
            )
        grid = ModelGrid.of(posterior, state)
        cells = grid.rewards()
        chance = grid.predictive(cells)
        total = chance.sum(axis=1)
        average = chance @ cells.middle / total
        arm = int(np.abs(total - 1.0).argmax())
        if not np.abs(total - 1.0).max() <= TOLERANCE:
            raise ContractViolation(
                f"the probabilities of the rewards of arm {arm} add up to {total[arm]:.6g}, not 1"
            )
        spread = np.sqrt((chance * (cells.middle - average[:, None]) ** 2).sum(axis=1))
        off = np.abs(average - grid.mean()) / (grid.scale + spread)
        if not (off <= 10.0 * TOLERANCE).all():
            arm = int(off.argmax())
            raise ContractViolation(
                f"the mean reward of arm {arm} is {average[arm]:.6g}, but the mean of its "
                f"posterior {grid.mean()[arm]:.6g}: theta is the mean of the rewards"
            )
        if listed is not None and not np.isin(draws, listed).all():
            continue  # rewards between the outcomes of the model
        most = np.sqrt(LEVEL / (2.0 * DRAWS)) + TOLERANCE  # Dvoretzky, Kiefer and Wolfowitz
        singly = len(cells.edges) == len(cells.middle)
        side: Any = "right" if singly else "left"
        ordered = np.sort(draws, axis=0).T
        share = np.stack([np.searchsorted(row, cells.middle, side) for row in ordered]) / DRAWS
        half = 0.0 if singly else 0.5
        off = np.abs(np.cumsum(chance, axis=1) - half * chance - share).max(axis=1)
        if not (off <= most + half * chance.max()).all():
            raise ContractViolation(
                f"the rewards drawn for arm {off.argmax()} do not have the distribution of the "
                f"likelihood: over {DRAWS} draws a probability differs by {off.max():.2g}"
            )


@check("posterior", "weights")
def weights(posterior: Posterior) -> None:
    """An observation of weight w is the average of w observations, if weights are supported."""
    if not getattr(posterior, "weighted", False) or "weight" not in _observation_fields():
        return
    parts: Any = Observations
    row = np.zeros(3, np.int64)
    for arm in range(posterior.arms):
        draws = reward_draws(posterior, posterior.init(1), 3)[:, arm]
        singly = posterior.update(posterior.init(1), Observations(row, row + arm, draws))
        one = parts(row[:1], row[:1] + arm, np.array([draws.mean()]), weight=np.array([3.0]))
        once = posterior.update(posterior.init(1), one)
        off = _distance(posterior, singly, once)
        if not off <= 1e-9:
            raise ContractViolation(
                f"an observation of weight 3 differs from three observations with the same "
                f"average by {off:.2g} at a point of the density"
            )


@check("posterior", "discount")
def discount(posterior: Posterior) -> None:
    """A discounted posterior counts observations by their age, and moves towards its prior.

    After the age at which an observation counts half, two equal ones are one. The order of arrival
    and the number of updates do not matter. If rewards depend on the mean alone, the density is
    proportional to f^g f_0^(1 - g), g the factor of the elapsed time.
    """
    if not is_discounted(posterior):
        return
    able: Any = posterior
    half = able.half_life or np.log(0.5) / np.log(able.discount)
    arm, when = np.arange(posterior.arms), 5.0
    one, two = reward_draws(posterior, posterior.init(1), 2)

    def after(*history: tuple[Floats, float]) -> State:
        """Return the state after rewards of all arms at some times, in an update each."""
        state = posterior.init(1)
        for reward, time in history:
            seen = Observations(0 * arm, arm, reward, time=np.full(len(arm), time))
            state = posterior.update(state, seen)
        return state

    both = Observations(
        np.zeros(2 * len(arm), np.int64),
        np.tile(arm, 2),
        np.concatenate([one, two]),
        time=np.full(2 * len(arm), when),
    )
    twice = after((one, when), (one, when))
    before = {name: value.copy() for name, value in twice.items()}
    halved = discounted(posterior, twice, when + half)
    if not all(same_bits(value, before[name]) for name, value in twice.items()):
        raise ContractViolation("discounted modified the state: return a new one")
    pairs = {
        "two updates of the same time differ from one update": (
            after((one, when), (two, when)),
            posterior.update(posterior.init(1), both),
        ),
        "two equal observations that count half differ from one": (
            halved,
            after((one, when + half)),
        ),
        "an observation that arrives late differs from one that arrives in time": (
            after((two, when + half), (one, when)),
            after((one, when), (two, when + half)),
        ),
    }
    for what, (first, second) in pairs.items():
        off = _distance(posterior, first, second)
        if not off <= 1e-9:
            raise ContractViolation(f"{what}, by {off:.2g} at a point of the density")
    if hasattr(posterior, "log_conditional"):
        return
    state = after((one, when), (two, when))
    moved = discounted(posterior, state, when + 0.3 * half)
    grid, g = ModelGrid.of(posterior, moved), 0.5**0.3
    now, prior = (posterior.log_density(s, grid.theta)[0] for s in (state, posterior.init(1)))
    off = _off_grid(grid, g * now + (1.0 - g) * prior)
    if not off <= 1e-9:
        raise ContractViolation(
            f"the density differs from f^g f_0^(1 - g), normalised, by {off:.2g} at a point"
        )


def _distance(posterior: Posterior, one: State, other: State) -> float:
    """Return the largest difference of the densities of two states of one trial, on a grid."""
    grid = ModelGrid.of(posterior, one)
    return _off_grid(grid, posterior.log_density(other, grid.theta)[0])


def _off_grid(grid: ModelGrid, log_density: Floats) -> float:
    """Return the largest difference of a density, normalised, from that of a grid."""
    log_mass = log_density + np.log(grid.cells.width)
    mass = np.exp(log_mass - log_mass.max(axis=1, keepdims=True))
    return float(np.abs(mass / mass.sum(axis=1, keepdims=True) - grid.mass).max())


def _observation_fields() -> set[str]:
    return {field.name for field in fields(Observations)}


@check("posterior", "evidence")
def evidence(posterior: Posterior) -> None:
    """log_evidence, if it exists, is the log marginal likelihood of the observations.

    It is compared between the prior and that of ``weaker``, for the same observations. Their
    marginal likelihoods follow from Bayes' rule: prior times likelihood, divided by the posterior.
    Discounted posteriors have none.
    """
    able: Any = posterior
    if not hasattr(posterior, "log_evidence") or not hasattr(posterior, "weaker"):
        return
    if is_discounted(posterior):
        return
    _, history = _some_history(posterior)
    priors: list[Any] = [posterior, able.weaker()]
    for trial in range(2):
        found, expected = [], []
        # a mean at which all densities are large, and which is no special value
        likely = posterior.quantile(_updated(posterior, history, trial), 0.45)[0]
        for prior in priors:
            state, total = prior.init(1), np.zeros(prior.arms)
            for one, arm, reward in _one_by_one(history, trial):
                theta = np.array([likely[arm]])
                before = prior.log_density(state, theta)[0, arm, 0]
                before += log_likelihood(prior, state, reward, theta)[arm, 0]
                state = prior.update(state, one)
                total[arm] += before - prior.log_density(state, theta)[0, arm, 0]
            found.append(np.asarray(prior.log_evidence(state))[0])
            expected.append(total)
        off = np.abs((found[0] - found[1]) - (expected[0] - expected[1]))
        if not off.max() <= 1e-6:
            arm = int(off.argmax())
            raise ContractViolation(
                f"log_evidence of arm {arm} differs from that of weaker() by "
                f"{(found[0] - found[1])[arm]:.6g}, but the log marginal likelihoods differ by "
                f"{(expected[0] - expected[1])[arm]:.6g}"
            )


@check("posterior", "refuses-rewards")
def refuses_rewards(posterior: Posterior) -> None:
    """check_reward raises InputError for anything that is not one of the rewards.

    Rewards of the model are accepted and returned as floats.
    """
    support = reward_support(posterior)
    for right in reward_draws(posterior, posterior.init(1), 20).ravel().tolist():
        taken = posterior.check_reward(right)
        if not isinstance(taken, float) or taken != right:
            raise ContractViolation(
                f"check_reward returned {taken!r} for {right!r}: return the reward as a float"
            )
    for wrong in (*outside(support), "1", None):
        if not _refuses(posterior.check_reward, wrong):
            raise ContractViolation(
                f"check_reward accepts {wrong!r}, but the rewards are {support}: raise InputError"
            )


@check("posterior", "refuses-states")
def refuses_states(posterior: Posterior) -> None:
    """check_state, if it exists, accepts valid states and rejects damaged ones.

    Damaged states have NaN, or one arm too few. Agents use it for states loaded from files.
    """
    if not isinstance(posterior, StateChecked):
        return
    for state in (posterior.init(2), _some_history(posterior)[0]):
        posterior.check_state(state)
        for name, array in state.items():
            if not isinstance(array, np.ndarray):  # reported by the check "form"
                continue
            damaged = {"one arm too few": array[..., :-1]} if array.ndim > 1 else {}
            if array.dtype.kind == "f":
                damaged["NaN"] = np.full_like(array, np.nan)
            for what, wrong in damaged.items():
                if not _refuses(posterior.check_state, state | {name: wrong}):
                    raise ContractViolation(
                        f"check_state accepts state['{name}'] with {what}: raise InputError unless "
                        "init and update can produce the arrays"
                    )


def _refuses(call: Callable[..., object], *given: object) -> bool:
    """Return whether a call raises an error of this package."""
    try:
        call(*given)
    except GraphBanditsError:
        return True
    return False


def _some_history(posterior: Posterior) -> tuple[State, list[Observations]]:
    """Update two trials for eight rounds, with rewards of means drawn from the prior.

    Some arms are observed more often. In the last round one trial has no observation, and the other
    has two of the same arm.
    """
    able: Any = posterior
    keys, arms = Keys(41, 1, 2), posterior.arms
    state = posterior.init(2)
    theta = posterior.sample(state, Stream(keys, 0, "testing/theta"))
    history = []
    for t in range(1, 9):
        u = Stream(keys, t, "testing/history").uniform(2 * arms)
        trial, arm = np.nonzero(u[:, :arms] < np.linspace(0.9, 0.3, arms))
        if t == 8:
            trial, arm = np.array([1, 1]), np.array([arms - 1, arms - 1])
        if hasattr(posterior, "predict"):
            reward = able.predict(state, Stream(keys, t, "testing/reward"))[trial, arm]
        else:
            reward = posterior.draw_reward(theta, u[:, arms:])[trial, arm]
        seen = Observations(trial, arm, reward)
        history.append(seen)
        state = posterior.update(state, seen)
    return state, history


def _one_by_one(history: list[Observations], trial: int) -> list[tuple[Observations, int, float]]:
    """Return the observations of a trial as blocks of one, with their arms and rewards."""
    first = np.zeros(1, np.int64)
    return [
        (
            Observations(first, seen.arm[k : k + 1], seen.reward[k : k + 1]),
            int(seen.arm[k]),
            float(seen.reward[k]),
        )
        for seen in history
        for k in np.flatnonzero(seen.trial == trial).tolist()
    ]


def _updated(posterior: Posterior, history: list[Observations], trial: int) -> State:
    """Return the state of a trial after a history."""
    state = posterior.init(1)
    for one, _, _ in _one_by_one(history, trial):
        state = posterior.update(state, one)
    return state
