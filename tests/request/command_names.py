# SPDX-License-Identifier: Apache-2.0
"""Which commands and options of the earlier tool this one has, and what of its options for CMake and pip. The command
itself is asked, and cmake/ is read. Each is there, or is in command_left_out.txt with a reason;
tests/request/STATUS.md (status_page.py) has the table."""
import os
import re
import subprocess
import tempfile

import tracesmith
from earlier_names import compare, lines
from workplace import SOURCE

BUILD = ("cmake", "environment")


def wanted():
    """(command, options)"""
    for line in lines("command_names.txt"):
        command, _, options = line.partition(":")
        yield command, options.split()


def says(*words):
    """Of a call that cannot begin anything: it ends with an option that does not exist, or with two, as an option
    before may take the first for its value."""
    with tempfile.TemporaryDirectory() as control:
        done = subprocess.run([tracesmith.command_path(), *words, "--no-such-option", "--no-such-option"],
                              capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60,
                              env={**os.environ, "TRACESMITH_CONTROL": control})
    return done.stdout + done.stderr


def is_a_command(name):
    return f"'{name}' is not a command" not in says(name)


def is_an_option(command, option):
    return f"unknown option '{option}'" not in says(*([] if command == "anywhere" else [command]), option)


def told():
    """What the files of CMake take with -D, and what they look for in the environment."""
    files = "\n".join(file.read_text(encoding="utf-8") for file in sorted((SOURCE / "cmake").glob("*.cmake")))
    options = re.findall(r"^(?:option|tracesmith_vendor)\((TRACESMITH_\w+)", files, re.M)
    options += re.findall(r"^set\((TRACESMITH_\w+) [^)]*CACHE", files, re.M)
    vendors = re.search(r"^foreach\(_vendor ([^)]*)\)", files, re.M)[1].split()
    return {"cmake": options, "environment": [f"TRACESMITH_{vendor.upper()}" for vendor in vendors]}


def look():
    """(names that are there, all names in their order)"""
    there, every, build = set(), [], told()
    for command, options in wanted():
        if command in BUILD:
            there |= {f"{command} {option}" for option in options if option in build[command]}
        else:
            if command != "anywhere":
                every.append(command)
            if command == "anywhere" or is_a_command(command):
                there |= {command} & set(every)
                there |= {f"{command} {option}" for option in options if is_an_option(command, option)}
        every += [f"{command} {option}" for option in options]
    return there, every


def section():
    """The page's part, and what is wrong with command_left_out.txt."""
    there, every = look()
    rows, problems = compare(every, there, "command_left_out.txt", lambda name: name.partition(" ")[0])
    of_build = sum(name.startswith(BUILD) for name in there)
    options = sum(" " in name for name in there) - of_build
    return f"""## Commands and options of the earlier tool

{len(there) - options - of_build} commands with {options} options, and {of_build} options of the build, are there. These are not:

{rows}""", problems
