"""Tables of an experiment's file: common types, priors and means, claims, records."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Any, Literal, Self, TypeGuard

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, model_validator

from graphbandits.engine.recording import POINTS
from graphbandits.errors import InputError, nearest
from graphbandits.experiments.texts import Given, errors_at, placeholders
from graphbandits.policies import as_policy
from graphbandits.posteriors.beta_bernoulli import beta_pair, check_parameters
from graphbandits.registry import text_of
from graphbandits.results import Claim, Published

#: What a prior is, for those who gave something else.
PRIOR = '"A,B", [A, B], or a list with one of these for each arm'
MEANS = "a list of numbers in [0, 1], one for each arm"


class MisplacedError(InputError):
    """A mistake at a place inside of the table that is being checked."""

    def __init__(self, message: str, *place: str | int) -> None:
        super().__init__(message)
        self.place = place


def meant(given: object, words: Iterable[str]) -> str:
    """A hint at the nearest of the words that are allowed, if one is near.

    >>> meant("lin", ["linear", "log"]), meant("square", ["linear", "log"])
    ("; did you mean 'linear'?", '')
    """
    hint = nearest(str(given), words).partition("Known: ")[0].strip()
    return f"; {hint}" if hint else ""


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a number; true and false are none.

    >>> is_number(0.5), is_number(True), is_number("1")
    (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_means(value: object) -> bool:
    """Whether it is a list of probabilities.

    >>> is_means([0.2, 1]), is_means([]), is_means([0.2, 1.5])
    (True, False, False)
    """
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(is_number(mean) and 0 <= mean <= 1 for mean in value)


def _means(given: object) -> object:
    if not is_means(given):
        raise ValueError(f"means are {MEANS}")
    return given


def check_prior(given: Any) -> Given:
    """A prior as it is written, with lists as tuples; texts may have placeholders.

    >>> check_prior([[2, 5], "1,{b}"])
    ((2, 5), '1,{b}')
    """
    pairs = prior_pairs(given)
    if not pairs or not all(isinstance(one, str) or _is_pair(one) for one in pairs):
        raise InputError(f"a prior is {PRIOR}")
    for one in pairs:
        if not (isinstance(one, str) and placeholders(one)):
            check_parameters(beta_pair(one) if isinstance(one, str) else one)
    if isinstance(given, str):
        return given
    return tuple(tuple(one) if isinstance(one, list) else one for one in given)


def prior_pairs(prior: Any) -> tuple[Any, ...]:
    """The pairs of a prior: one for each arm, or one for all; empty if it is no prior.

    >>> prior_pairs("1,{b}"), prior_pairs([2, 5]), prior_pairs(((2, 5), "1,1"))
    (('1,{b}',), ([2, 5],), ((2, 5), '1,1'))
    """
    if isinstance(prior, str) or _is_pair(prior):
        return (prior,)
    return tuple(prior) if isinstance(prior, list | tuple) else ()


def _is_pair(given: object) -> bool:
    return isinstance(given, list | tuple) and len(given) == 2 and all(map(is_number, given))


Positive = Annotated[int, Field(ge=1, strict=True)]
Seed = Annotated[int, Field(ge=0, strict=True)]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Field(min_length=1)]
Prior = Annotated[Given, PlainValidator(check_prior)]
Means = Annotated[tuple[float, ...], BeforeValidator(_means)]
Accuracy = Literal["simulation", "strict"]
Regret = Literal["pseudo", "realised"]


class Table(BaseModel):
    """A table of the file: no other keys than its fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SimulationTable(Table):
    """Keys that an experiment has, and each of its sweeps may have instead."""

    graph: Text | None = None
    arms: Positive | None = None
    horizon: Positive | None = None
    prior: Prior | None = None
    means: Means | None = None
    policies: Texts | None = None


class ClaimTable(Table):
    """Each policy of ``better`` is said to have less regret than each of ``than``."""

    text: Text
    source: str = ""
    better: Texts
    than: Texts

    @model_validator(mode="after")
    def _can_be_claimed(self) -> Self:
        Claim(self.text, self.better, self.than)
        return self

    def claim(self) -> Claim:
        """The claim, its policies called as in results."""
        what = f"the claim '{self.text}'"
        better, than = (
            tuple(policy_name(policy, what) for policy in side) for side in (self.better, self.than)
        )
        return Claim(self.text, better, than, self.source)


class PublishedTable(Table):
    """Mean regrets and their standard errors that ``source`` has published."""

    source: Text
    means: dict[str, Any]

    @model_validator(mode="after")
    def _can_be_published(self) -> Self:
        if not self.means:
            message = "published regrets are policy = [mean, standard error], one or more"
            raise MisplacedError(message, "means")
        for policy, pair in self.means.items():
            try:
                Published({policy: pair}, self.source)
            except InputError:
                message = f"the published regret of '{policy}' is [mean, standard error], two "
                message += "numbers, the second at least 0"
                raise MisplacedError(message, "means", policy) from None
        return self

    def published(self) -> Published:
        """The means, their policies called as in results."""
        what = f"published by {self.source}"
        means: dict[str, tuple[float, float]] = {}
        for policy, pair in self.means.items():
            name = policy_name(policy, what)
            if name in means:
                raise InputError(f"{what}: policy '{name}' is given twice")
            means[name] = tuple(pair)
        return Published(means, self.source)


class RecordTable(Table):
    """What is kept of each trial: at how many rounds, or at which, which regret, which ratios."""

    points: Positive = POINTS
    rounds: Annotated[tuple[Positive, ...], Field(min_length=1)] | None = None
    regret: Regret = "pseudo"
    ratios: Literal["bound", "joint"] | None = None

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.rounds is None:
            return self
        if "points" in self.model_fields_set:
            raise InputError("points says how many rounds, and rounds says which: give one of them")
        if list(self.rounds) != sorted(set(self.rounds)):
            raise MisplacedError("rounds go up, each of them once", "rounds")
        return self


def policy_name(policy: str, what: str) -> str:
    """What a policy is called in results; ``what`` speaks of it."""
    with errors_at(what):
        return text_of(as_policy(policy))


def check_known(names: Iterable[str], known: Collection[str], what: str) -> None:
    """Refuse names that are not among those of policies."""
    for name in names:
        if name not in known:
            raise InputError(f"{what}: '{name}' is not among the policies: {nearest(name, known)}")
