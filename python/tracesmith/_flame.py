# SPDX-License-Identifier: Apache-2.0
"""The boxes of a flame graph, from folded stacks."""
from __future__ import annotations

from typing import Iterator

__all__ = ["FlameBox"]


class FlameBox:
    """A call path with its weight. `start` is the sum of the weights left of it at its level."""

    def __init__(self, name: str, level: int) -> None:
        self.name = name
        self.level = level
        self.start = 0.0
        self.weight = 0.0
        self._callees: dict[str, FlameBox] = {}

    @classmethod
    def of(cls, folded: str) -> FlameBox:
        """The tree of lines "outer;inner weight"; its root, at level -1, has all of them."""
        root = cls("", -1)
        for line in filter(None, folded.split("\n")):
            stack, _, weight = line.rpartition(" ")
            box = root
            box.weight += float(weight)
            for name in stack.split(";"):
                box = box._callees.setdefault(name, cls(name, box.level + 1))
                box.weight += float(weight)
        return root

    def boxes(self) -> Iterator[FlameBox]:
        """All boxes above this one, each after its caller; the heaviest callees first."""
        waiting = [self]
        while waiting:
            box = waiting.pop()
            start = box.start
            for callee in sorted(box._callees.values(), key=lambda of: -of.weight):
                callee.start = start
                start += callee.weight
                yield callee
                waiting.append(callee)

    def height(self) -> int:
        """The number of levels above this box."""
        return max((box.level for box in self.boxes()), default=self.level) - self.level
