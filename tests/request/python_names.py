# SPDX-License-Identifier: Apache-2.0
"""Which names of the earlier tool's Python package this one has. Every name is there, or is in
left_out.txt with a reason; tests/request/STATUS.md (status_page.py) has the table."""
import tracesmith
import tracesmith.xctrace  # which is not imported with it
from earlier_names import compare, lines


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
    every = list(wanted())
    there = {name for name in every if is_there(name)}
    rows, problems = compare(every, there, "left_out.txt", lambda name: name.rpartition(".")[0])
    members = sum("." in name for name in there)
    return f"""## Python names of the earlier tool

{len(there) - members} names are there, with {members} members of theirs. These are not:

{rows}""", problems


if __name__ == "__main__":  # [--write]: the whole page, of which this is a part
    import status_page

    status_page.main()
