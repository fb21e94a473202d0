# SPDX-License-Identifier: Apache-2.0
"""What the request's documents show, as cases: one file of cases/ for each snippet, as it is written there.

Lines that begin with `#:` (C++: `//:`) are ours, all else is the snippet's. At the top:
  #: from: DOCUMENT / HEADING       where it stands; once for each place
  #: given: FILE, …                 what must be there before (see workplace.py)
  #: in: FOLDER                     where it runs, below the case's own folder
  #: with: package                  needs the installed Python package: runs in `script/test python`
  #: platform: NAME                 asks for that platform; where it is missing, it has to say so
  #: fragment                       C++ that is no whole program: it becomes the body of one
and at the top for a whole snippet, or before a command of a shell snippet for that command:
  #: left out: REASON; instead: …   it is not run
  #: elsewhere: TEST                that test runs it
  #: does: COMMAND                  what the case does in its place
  #: ends CODE: TEXT                it ends with that code, and says TEXT (part of its output)
  #: without CODE: TEXT             the same where a device or tool is missing; else it ends with 0
  #: shows: TEXT                    its output has TEXT, where it ends with 0
  #: leaves: FILE                   it has written FILE then, of the kind that its name says (left_files.py)
  #: leaves: FILE: N TABLE, …       and that is a trace with so many rows in its tables; `some`: one or more
  #: note: …                        for the page
What runs says what it shows or leaves, but for commands of the shell itself.
"""
import re
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE / "cases"
SUFFIXES = (".cpp", ".py", ".sh")
OURS = re.compile(r"^(?:#|//):\s*(.*)$")
SILENT = ("cd", "export", "mkdir")


def words(line):
    """A line without the accidents of its spacing."""
    return " ".join(line.split())


@dataclass
class Verdict:
    """What is to become of a command, or of a whole snippet."""
    left_out: str = ""
    elsewhere: str = ""
    does: str = ""
    code: int = 0
    or_well: bool = False  # 0 is right as well
    says: str = ""  # where it ends with that code
    shows: list = field(default_factory=list)  # where it ends with 0
    leaves: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def take(self, kind, value, where):
        if kind == "left out":
            if "; instead: " not in value:
                raise ValueError(f"{where}: a left-out thing names what to use instead: {value}")
            self.left_out = value
        elif kind == "elsewhere":
            self.elsewhere = value
        elif kind == "does":
            self.does = value
        elif kind.startswith(("ends ", "without ")):
            self.code, self.or_well = int(kind.split()[1]), kind.startswith("without")
            self.says = value
        elif kind == "shows":
            self.shows.append(value)
        elif kind == "leaves":
            self.leaves.append(value)
        elif kind == "note":
            self.notes.append(value)
        else:
            raise ValueError(f"{where}: unknown: {kind}")

    @property
    def runs(self):
        return not self.left_out and not self.elsewhere

    @property
    def is_checked(self):
        """Whether it can be told from something that does nothing."""
        may_end_well = self.or_well or self.code == 0
        return not self.runs or bool(self.shows or self.leaves or not may_end_well)


@dataclass
class Command:
    """A command of a shell snippet, with the lines that continue it."""
    text: str
    verdict: Verdict


@dataclass
class Case:
    path: Path
    places: list = field(default_factory=list)  # "document / heading"
    given: list = field(default_factory=list)
    inside: str = "."
    package: bool = False
    platform: str = ""
    fragment: bool = False
    verdict: Verdict = field(default_factory=Verdict)
    lines: list = field(default_factory=list)  # the snippet
    commands: list = field(default_factory=list)

    @property
    def name(self):
        return self.path.stem

    @property
    def kind(self):
        return self.path.suffix[1:]

    @property
    def parts(self):
        """What is judged: the commands of a shell snippet, or the whole."""
        return [command.verdict for command in self.commands] if self.kind == "sh" else [self.verdict]

    @property
    def runs_here(self):
        return any(part.runs for part in self.parts)


def read_case(path):
    case = Case(path)
    pending, begun, continued = None, False, False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        where = f"{path.name}:{number}"
        ours = OURS.match(line)
        if ours is None:
            case.lines.append(line)
            if path.suffix != ".sh":
                begun = begun or bool(line.strip())
                continue
            if continued:
                case.commands[-1].text += "\n" + line
                continued = line.endswith("\\")
            elif line.strip() and not line.lstrip().startswith("#"):
                case.commands.append(Command(line, pending or Verdict()))
                pending, continued = None, line.endswith("\\")
            begun = begun or bool(line.strip())
            continue
        kind, colon, value = ours.group(1).partition(":")
        kind, value = kind.strip(), value.strip()
        if kind == "from":
            case.places.append(value)
        elif kind == "given":
            case.given += [name.strip() for name in value.split(",")]
        elif kind == "platform":
            case.platform = value
        elif kind == "in":
            case.inside = value
        elif kind == "with" and value == "package":
            case.package = True
        elif kind == "fragment" and not colon:
            case.fragment = True
        elif path.suffix == ".sh" and (begun or kind != "note"):
            pending = pending or Verdict()
            pending.take(kind, value, where)
        elif begun:
            raise ValueError(f"{where}: belongs at the top")
        else:
            case.verdict.take(kind, value, where)
    if pending is not None:
        raise ValueError(f"{path.name}: no command follows the last lines of ours")
    if not case.places:
        raise ValueError(f"{path.name}: does not say where it is from")
    for part in case.commands if path.suffix == ".sh" else [case]:
        silent = path.suffix == ".sh" and part.text.split()[0] in SILENT
        if not part.verdict.is_checked and not silent:
            raise ValueError(f"{path.name}: does not say what it shows or leaves: {getattr(part, 'text', 'the whole')}")
    return case


def all_cases():
    return [read_case(path) for path in sorted(FOLDER.iterdir()) if path.suffix in SUFFIXES]
