# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments: what makes no sense is an InvalidArgumentError that names the argument."""
from __future__ import annotations

import operator
from typing import Any, Iterable, Mapping

from tracesmith._errors import InvalidArgumentError

__all__ = ["checked_slice", "factor", "factors", "names", "whole"]

_MOST_ROWS = 2**62  # more than any table has; larger numbers in slices mean the same


def whole(value: Any, name: str, least: int, most: int | None = None) -> int:
    """`value`, if it is a whole number in this range."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidArgumentError(f"must be a whole number, not {value!r}", name) from None
    if number < least or (most is not None and number > most):
        raise InvalidArgumentError(f"must be {least} or more" if most is None else f"there can be {least} to {most}", name)
    return number


def factor(value: Any, name: str) -> float:
    """`value`, if it is a number."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgumentError(f"a factor is a number, not {value!r}", name) from None


def factors(values: Any, name: str, example: str) -> list[tuple[str, float]]:
    """The items of a mapping of names to factors."""
    if not isinstance(values, Mapping):
        raise InvalidArgumentError(f"must map names to factors, such as {example}, not {values!r}", name)
    return [(str(what), factor(number, name)) for what, number in values.items()]


def names(values: Any, name: str) -> list[str]:
    """One name, or several."""
    several = [values] if isinstance(values, str) else list(values) if isinstance(values, Iterable) else [values]
    for one in several:
        if not isinstance(one, str):
            raise InvalidArgumentError(f"must be a text or several, not {one!r}", name)
    return several


def checked_slice(key: slice) -> slice:
    """A slice whose numbers fit range(), which refuses larger ones than any table has rows. TypeError: a part is
    neither a whole number nor None."""

    def part(value: Any) -> int | None:
        if value is None:
            return None
        try:
            return max(-_MOST_ROWS, min(operator.index(value), _MOST_ROWS))
        except TypeError:
            raise TypeError(f"slices are made of whole numbers, not of {value!r}") from None

    return slice(part(key.start), part(key.stop), part(key.step))
