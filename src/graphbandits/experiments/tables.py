"""Tables of an experiment's file: what they have in common; claims, published means, records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, model_validator

from graphbandits.engine.shard import POINTS
from graphbandits.errors import InputError, nearest
from graphbandits.experiments.texts import Given, errors_at
from graphbandits.experiments.worlds import MEANS, check_prior, is_means
from graphbandits.policies import as_policy
from graphbandits.registry import text_of
from graphbandits.results import Claim, Published


class MisplacedError(InputError):
    """A mistake at a place inside of the table that is being checked."""

    def __init__(self, place: tuple[str | int, ...], given: object, message: str) -> None:
        super().__init__(message)
        self.place, self.given = place, given


def meant(given: object, words: Iterable[str]) -> str:
    """A hint at the nearest of the words that are allowed, if one is near.

    >>> meant("lin", ["linear", "log"]), meant("square", ["linear", "log"])
    ("; did you mean 'linear'?", '')
    """
    hint = nearest(str(given), words).partition("Known: ")[0].strip()
    return f"; {hint}" if hint else ""


def _means(given: object) -> object:
    if not is_means(given):
        raise ValueError(f"means are {MEANS}")
    return given


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
            [policy_name(policy, what) for policy in side] for side in (self.better, self.than)
        )
        return Claim(self.text, tuple(better), tuple(than), self.source)


class PublishedTable(Table):
    """Mean regrets and their standard errors that ``source`` has published."""

    source: Text
    means: dict[str, Any]

    @model_validator(mode="after")
    def _can_be_published(self) -> Self:
        form = "policy = [mean, standard error]"
        if not self.means:
            raise MisplacedError(("means",), {}, f"published regrets are {form}, one or more")
        for policy, pair in self.means.items():
            try:
                Published({policy: pair}, self.source)
            except InputError:
                message = f"the published regret of '{policy}' is [mean, standard error], two "
                message += "numbers, the second at least 0"
                raise MisplacedError(("means", policy), pair, message) from None
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
            raise MisplacedError(("rounds",), list(self.rounds), "rounds go up, each of them once")
        return self


def policy_name(policy: str, what: str) -> str:
    """What a policy is called in results; ``what`` speaks of it."""
    with errors_at(what):
        return text_of(as_policy(policy))
