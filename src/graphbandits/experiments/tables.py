"""The tables of an experiment's file: claims, published means, sweeps."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    model_validator,
)

from graphbandits.errors import GraphBanditsError, InputError
from graphbandits.experiments.texts import Value, file_part
from graphbandits.policies import as_policy
from graphbandits.registry import text_of
from graphbandits.results import Claim, Published

#: Parameters of a sweep that set a key of the experiment.
SIZES = ("arms", "horizon")


def _number_or_text(value: object) -> Value:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    raise ValueError("a value is a finite number, or a text that is not empty")


def _word(text: str) -> str:
    if not text.isidentifier():
        raise ValueError("a parameter is a word such as r, which stands in texts as {r}")
    return text


Positive = Annotated[int, Field(ge=1, strict=True)]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Field(min_length=1)]
Values = Annotated[
    tuple[Annotated[Value, PlainValidator(_number_or_text)], ...], Field(min_length=1)
]


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
            [_name(policy, what) for policy in side] for side in (self.better, self.than)
        )
        return Claim(self.text, tuple(better), tuple(than), self.source)


class PublishedTable(Table):
    """Mean regrets and their standard errors that ``source`` has published."""

    source: Text
    means: dict[str, Any]

    @model_validator(mode="after")
    def _can_be_published(self) -> Self:
        Published(self.means, self.source)
        return self

    def published(self) -> Published:
        """The means, their policies called as in results."""
        what = f"published by {self.source}"
        means: dict[str, tuple[float, float]] = {}
        for policy, pair in self.means.items():
            name = _name(policy, what)
            if name in means:
                raise InputError(f"{what}: policy '{name}' is given twice")
            means[name] = tuple(pair)
        return Published(means, self.source)


class SweepTable(Table):
    """One simulation for each of the ``values`` of a ``parameter``.

    ``{parameter}`` in the texts of graph and policies becomes the value; ``arms`` and ``horizon``
    set the key of that name. What is not given here is that of the experiment.
    """

    parameter: Annotated[str, AfterValidator(_word)]
    values: Values
    title: str = ""
    label: str = ""
    scale: Literal["linear", "log"] = "linear"
    graph: Text | None = None
    policies: Texts | None = None
    arms: Positive | None = None
    horizon: Positive | None = None

    @model_validator(mode="after")
    def _can_be_drawn(self) -> Self:
        texts = [isinstance(value, str) for value in self.values]
        if any(texts) and not all(texts):
            raise InputError("values are all numbers or all texts, not some of each")
        if self.scale == "log" and any(isinstance(v, str) or v <= 0 for v in self.values):
            raise InputError("scale = 'log' goes with numbers above 0")
        for place, value in enumerate(self.values):
            if value in self.values[:place]:
                raise InputError(f"the value {value!r} is given twice")
        # some file systems do not tell capital letters apart
        files = {file_part(value).casefold(): value for value in self.values}
        if len(files) < len(self.values) or "" in files:
            raise InputError(
                "values are in the names of files, where letters, digits, points and signs must "
                f"tell them apart; got {', '.join(map(str, self.values))}"
            )
        if self.parameter in SIZES:
            for value in self.values:
                if not isinstance(value, int) or value < 1:
                    raise InputError(
                        f"values of {self.parameter} are whole numbers of at least 1, not {value!r}"
                    )
            if getattr(self, self.parameter) is not None:
                raise InputError(
                    f"{self.parameter} is what this sweep varies: leave the key "
                    f"'{self.parameter}' out"
                )
        return self


def _name(policy: str, what: str) -> str:
    """What a policy is called in results; ``what`` speaks of it."""
    try:
        return text_of(as_policy(policy))
    except GraphBanditsError as error:
        raise type(error)(f"{what}: {error}") from error
