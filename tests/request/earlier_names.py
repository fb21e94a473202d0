# SPDX-License-Identifier: Apache-2.0
"""Names of the earlier tool beside those of this one: each is there, or a file says why not."""
import re
from pathlib import Path

HERE = Path(__file__).parent


def lines(name):
    return [line for line in (HERE / name).read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]


def compare(every, there, file, owner_of):
    """(table of what is not there, what is wrong with `file`). A line of it: a regular expression for whole names, a
    tab, and why they are left out. What is left out takes what it owns with it."""
    reasons = [line.split("\t") for line in lines(file)]
    left_out = {reason: [] for _, reason in reasons}
    problems, gone = [], set()
    for name in every:
        reason = next((why for pattern, why in reasons if re.fullmatch(pattern, name)), None)
        if name in there:
            if reason is not None:
                problems.append(f"{name} is there, and in {file}")
        elif owner_of(name) in gone:
            gone.add(name)
        elif reason is None:
            problems.append(f"{name} is not there, and not in {file}")
        else:
            gone.add(name)
            left_out[reason].append(name)
    problems += [f"{file}: nothing is left out because: {why}" for why, names in left_out.items() if not names]
    rows = [f"| {', '.join(f'`{name}`' for name in names)} | {why} |\n" for why, names in left_out.items()]
    return "| names | why, and what to use instead |\n|---|---|\n" + "".join(rows), problems
