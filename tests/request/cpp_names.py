# SPDX-License-Identifier: Apache-2.0
"""Which names of the earlier tool's C++ API this one has. A compiler says so: CXX, else c++. Every name is there,
or is in cpp_left_out.txt with a reason; tests/request/STATUS.md (status_page.py) has the table."""
import os
import re
import shlex
import subprocess

from earlier_names import compare, lines
from workplace import SOURCE, binaries

HEADER = re.compile(r"[\w/]+\.hpp$")
# Classes are inherited from beside one that has the member as well: then naming it is ambiguous.
PRELUDE = """#include <tracesmith/tracesmith.hpp>
namespace tracesmith {
"""


def wanted():
    """(kind, name, members) of headers, classes, enums and functions."""
    for line in lines("cpp_names.txt"):
        if HEADER.match(line):
            yield "header", line, []
            continue
        name, _, members = line.partition(": ")
        if name == "functions":
            yield from (("function", function, []) for function in members.split())
        elif name.startswith("enum "):
            yield "enum", name[5:], members.split()
        else:
            yield "class", name, members.split()


def generated():
    """The folder of the header that a build makes."""
    found = [binaries().parent / "generated", *sorted((SOURCE / "build").glob("*/generated"))]
    return next((folder for folder in found if folder.is_dir()), None)


def compiles(text_of):
    """text_of: {what: one line of C++}; those that compile."""
    whats = list(text_of)
    text = PRELUDE + "".join(text_of[what] + "\n" for what in whats) + "}\n"
    places = [SOURCE / "include", SOURCE / "src", generated()]
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    all_errors = "-ferror-limit=0" if "clang" in compiler[0] else "-fmax-errors=0"
    command = [*compiler, "-std=c++20", "-fsyntax-only", "-w", all_errors, "-x", "c++", "-"]
    command += [f"-I{place}" for place in places if place is not None]
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    first = PRELUDE.count("\n") + 1
    bad = {int(number) for number in re.findall(r"^<stdin>:(\d+):\d+: (?:fatal )?error: ", done.stderr, re.M)}
    if done.returncode != 0 and not bad or any(not first <= number < first + len(whats) for number in bad):
        raise RuntimeError("what is not about names does not compile:\n" + done.stderr[:3000])
    return {what for number, what in enumerate(whats, first) if number not in bad}


def type_of(name):
    return name + "<int>" if name == "RingBuffer" else name


def members_of(name, kind, members):
    """{Class::member: a line that compiles where it is there}"""
    of, number = type_of(name), re.sub(r"\W", "_", name)
    for member in members:
        probe = f"{number}_{member}"
        if kind == "enum":
            yield f"{name}::{member}", f"constexpr auto has_{probe} = {of}::{member};"
            continue
        yield f"{name}::{member}", (
            f"struct other_{probe} {{ int {member}; }}; struct both_{probe} : {of}, other_{probe} {{}}; "
            f"template <class T> constexpr bool lacks_{probe} = requires {{ &T::{member}; }}; "
            f"static_assert(!lacks_{probe}<both_{probe}>);")


def look():
    """(names that are there, all names in their order)"""
    every, there = [], set()
    names = list(wanted())
    texts = {}
    for kind, name, _ in names:
        if kind == "header":
            if (SOURCE / "include" / "tracesmith" / name).exists() or (SOURCE / "src" / "tracesmith" / name).exists():
                there.add(name)
        elif kind == "function":
            texts[name] = f"inline void uses_{name}() {{ using tracesmith::{name}; }}"
        else:
            texts[name] = f"using type_{re.sub(r'[^A-Za-z0-9]', '_', name)} = {type_of(name)};"
    there |= compiles(texts)
    texts = {}
    for kind, name, members in names:
        if name in there:
            texts.update(members_of(name, kind, members))
    there |= compiles(texts)
    for _, name, members in names:
        every.append(name)
        every += [f"{name}::{member}" for member in members]
    return there, every


def section():
    """The page's part, and what is wrong with cpp_left_out.txt."""
    there, every = look()
    rows, problems = compare(every, there, "cpp_left_out.txt", lambda name: name.rpartition("::")[0])
    counts = {"headers": 0, "classes and functions": 0, "members": 0}
    for name in there:
        counts["headers" if HEADER.match(name) else "members" if "::" in name else "classes and functions"] += 1
    return f"""## C++ names of the earlier tool

{', '.join(f'{count} {what}' for what, count in counts.items())} are there. These are not:

{rows}""", problems
