# SPDX-License-Identifier: Apache-2.0
"""Whether what a case says that it leaves (request_case.py) is there: new, whole, and of the kind that its name says.
Traces of any format are read by `tracesmith query`."""
import json
import shlex
import shutil
import subprocess

BEGINS = {".sbt": b"\x89SBT", ".pftrace": b"\n", ".perfetto-trace": b"\n"}  # Perfetto: the field `packet`
TRACES = (*BEGINS, ".json")


def name_of(leaves):
    return leaves.partition(":")[0].strip()


def rows_of(leaves):
    """{table: how many, or "some"}"""
    words = [part.split() for part in leaves.partition(":")[2].split(",") if part.strip()]
    return {table: count if count == "some" else int(count) for count, table in words}


def in_shell(verdict, command, keep):
    """The command in a script; what it has written is copied to the folder `keep`, as later commands may
    write it again."""
    if not verdict.leaves:
        return command
    begun = shlex.quote(str(keep / ".begun"))
    before, after = [f"touch -d @2 {begun}"], [command, "code=$?"]
    for name in map(name_of, verdict.leaves):
        file = shlex.quote(name)
        before.append(f"[ ! -e {file} ] || touch -d @1 {file}")  # what is quick may end at the time of what was before
        after.append(f"[ ! {file} -nt {begun} ] || cp --parents {file} {shlex.quote(str(keep))}")
    keep.mkdir()
    return "\n".join([*before, *after, "(exit $code)"])


def count(path, table, env):
    """Rows of a table; a text where it cannot be read."""
    done = subprocess.run([shutil.which("tracesmith-cli", path=env["PATH"]), "query", "--csv", path,
                           f"SELECT count(*) FROM {table}"], env=env, capture_output=True, text=True, check=False)
    return int(done.stdout.split()[-1]) if done.returncode == 0 else f"ended with {done.returncode}: {done.stderr}"


def problem_of(leaves, folder, env, none_of=False):
    """What is wrong with the file below `folder`; "". `none_of`: its tables are empty."""
    path = folder / name_of(leaves)
    if not path.exists() or path.stat().st_size == 0:
        return f"did not leave {path.name}, or nothing in it"
    if not path.read_bytes().startswith(BEGINS.get(path.suffix, b"")):
        return f"{path.name} is no {path.suffix} file"
    if path.suffix == ".json":
        try:
            json.loads(path.read_bytes())["traceEvents"]
        except (ValueError, KeyError, TypeError) as error:
            return f"{path.name} is no JSON of a trace: {error!r}"
    wanted = rows_of(leaves) or ({"kernel": None} if path.suffix in TRACES else {})
    for table, rows in wanted.items():
        there = count(path, table, env)
        if isinstance(there, str):
            return f"{path.name} cannot be read: {there}"
        right = there == 0 if none_of else there > 0 if rows == "some" else rows in (None, there)
        if not right:
            return f"{path.name} has {there} rows of {table}, not {0 if none_of else rows}"
    return ""
