# SPDX-License-Identifier: Apache-2.0
"""Columns of texts."""
from __future__ import annotations

from typing import Any, Iterator, Sequence, overload

import numpy as np
import numpy.typing as npt

__all__ = ["Texts"]

_SHOWN = 10


class Texts:
    """A column of texts. Each different text is stored once; each row has the index of its text.

    Attributes:
        codes: int32 [rows], the index of each row's text in `categories`; -1 for no text.
        categories: the different texts, in their order.
    """

    __slots__ = ("codes", "categories")

    def __init__(self, codes: npt.NDArray[np.int32], categories: list[str]) -> None:
        self.codes = codes
        self.categories = categories

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, index: int) -> str | None: ...
    @overload
    def __getitem__(self, index: slice | npt.NDArray[Any]) -> Texts: ...
    def __getitem__(self, index: Any) -> Any:
        """One text, or the texts of a slice, of an array of indices or of a mask."""
        if isinstance(index, (int, np.integer)):
            code = int(self.codes[index])
            return None if code < 0 else self.categories[code]
        return Texts(self.codes[index], self.categories)

    def __iter__(self) -> Iterator[str | None]:
        for code in self.codes:
            yield None if code < 0 else self.categories[code]

    def __eq__(self, other: object) -> Any:
        """True for rows with this text: bool [rows]. With another column: true for equal rows."""
        if isinstance(other, str):
            code = self.categories.index(other) if other in self.categories else -2
            return self.codes == code
        return np.asarray(self) == np.asarray(other)

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

    __hash__ = None  # type: ignore[assignment]

    def isin(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """True for rows with one of these texts: bool [rows]."""
        if isinstance(texts, str):
            raise TypeError("isin() takes a list of texts; use == for one text")
        wanted = [code for code, text in enumerate(self.categories) if text in texts]
        return np.isin(self.codes, wanted)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The texts as objects (None for no text): a copy, 8 bytes a row."""
        del copy
        texts = np.empty(len(self.categories) + 1, dtype=object)
        texts[: len(self.categories)] = self.categories
        out = texts[self.codes]  # -1 is the last one: None
        return out if dtype is None else out.astype(dtype)

    def __repr__(self) -> str:
        shown = ", ".join(repr(text) for text in self[:_SHOWN])
        more = ", …" if len(self) > _SHOWN else ""
        return f"Texts([{shown}{more}], {len(self)} rows of {len(self.categories)} texts)"
