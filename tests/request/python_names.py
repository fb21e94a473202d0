# SPDX-License-Identifier: Apache-2.0
"""Which names of the earlier tool's Python package this one has. Every name is there, or is in
left_out.txt with a reason; docs/request_status.md (status_page.py) has the table."""
import re
from pathlib import Path

import tracesmith
import tracesmith.xctrace  # which is not imported with it

HERE = Path(__file__).parent


def lines(name):
    return [line for line in (HERE / name).read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]


def wanted():
    """All names, members as Class.member."""
    for line in lines("python_names.txt"):
        name, _, members = line.partition(":")
        yield name
        yield from (f"{name}.{member}" for member in members.split())


def is_there(name):
    place = tracesmith
    for part in name.split("."):
        if not hasattr(place, part):
            return False
        place = getattr(place, part)
    return True


def section():
    """The page's part, and what is wrong with left_out.txt."""
    reasons = [line.split("\t") for line in lines("left_out.txt")]
    left_out = {reason: [] for _, reason in reasons}
    problems, there, members = [], 0, 0
    gone = set()
    for name in wanted():
        owner = name.rpartition(".")[0]
        reason = next((why for pattern, why in reasons if re.fullmatch(pattern, name)), None)
        if is_there(name):
            there += "." not in name
            members += "." in name
            if reason is not None:
                problems.append(f"{name} is there, and in left_out.txt")
        elif owner in gone:
            continue  # with its class
        elif reason is None:
            problems.append(f"{name} is not there, and not in left_out.txt")
        else:
            gone.add(name)
            left_out[reason].append(name)
    for reason, names in left_out.items():
        if not names:
            problems.append(f"nothing is left out because: {reason}")
    text = f"""## Python names of the earlier tool

{there} names are there, with {members} members of theirs. These are not:

| names | why, and what to use instead |
|---|---|
"""
    for reason, names in left_out.items():
        text += f"| {', '.join(f'`{name}`' for name in names)} | {reason} |\n"
    return text, problems


if __name__ == "__main__":  # [--write]: the whole page, of which this is a part
    import status_page

    status_page.main()
