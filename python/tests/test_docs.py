# SPDX-License-Identifier: Apache-2.0
"""What the documents name exists: commands, their options, files; and what there is, they name. Links within the site are script/docs' affair."""
import re
import shlex
import subprocess
from pathlib import Path

import pytest

import tracesmith

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*.md"))]
BLOCK = re.compile(r"^```(bash|console|sh)\n(.*?)^```$", re.S | re.M)
OPERATORS = {"|", "||", "&&", "&", ";", ">", "<", ">>", "(", ")", "<(", ">&", ";;"}


@pytest.fixture(scope="module")
def options():
    """Command → its options, as the command itself tells them."""
    said = subprocess.run([tracesmith.command_path(), "man", "--markdown"], check=True, capture_output=True, text=True)
    head, *sections = re.split(r"^## tracesmith (\w+)$", said.stdout, flags=re.M)
    named = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
    everywhere = {option for line in head.splitlines() if line.startswith("- `-") for option in named.findall(line)}
    return {name: everywhere | {option for row in re.findall(r"^\| `(.*?)` \|", text, re.M)
                                for option in named.findall(row)}
            for name, text in zip(sections[::2], sections[1::2])}


def lines_of(language, block):
    """The commands of a block, each with the lines that belong to it."""
    lines = block.splitlines()
    if language == "console":
        lines = [re.sub(r"^\w*\$ +", "", line) if re.match(r"\w*\$ ", line) else line for line in lines]
    said = ""
    for line in lines:
        said += line + "\n"
        if not line.endswith("\\") and said.count("'") % 2 == 0 and said.count('"') % 2 == 0:
            yield said.replace("\\\n", " ")
            said = ""


def calls(words):
    """Of the words of a line those of each `tracesmith`, up to an operator or the program after --."""
    for at, word in enumerate(words):
        if word.endswith("tracesmith") and (at == 0 or words[at - 1] in OPERATORS):
            rest = []
            for following in words[at + 1:]:
                if following in OPERATORS or following == "--":
                    break
                rest.append(following)
            yield rest


def test_commands_and_options_exist(options):
    wrong, seen = [], 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        said = [line for found in BLOCK.finditer(text) for line in lines_of(found[1], found[2])]
        said += re.findall(r"`(tracesmith [a-z][^`\n]*)`", text)
        for line in said:
            try:
                lexer = shlex.shlex(line, posix=False, punctuation_chars=True)  # quoted words stay quoted
                lexer.wordchars += ":=,*@%+{}$…"
                words = list(lexer)
            except ValueError:
                continue  # half a sentence
            for command, *rest in (call for call in calls(words) if call):
                seen += 1
                if command.startswith("-"):
                    continue
                if command not in options:
                    wrong.append(f"{page.name}: tracesmith {command}")
                    continue
                given = {word.split("=")[0] for word in rest if re.match(r"--?[A-Za-z]", word)}
                wrong += [f"{page.name}: tracesmith {command} {option}" for option in given - options[command]]
    assert not wrong
    assert seen > 200


@pytest.mark.parametrize("page", sorted(file.name for file in ROOT.glob("*.md")))
def test_files_that_are_linked_exist(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), f"{page}: {target}"


def cmake_files():
    rest = [ROOT / "cmake" / "TraceSmithOptions.cmake", ROOT / "cmake" / "TraceSmithRooms.cmake"]
    return "\n".join(file.read_text(encoding="utf-8") for file in [*rest, *sorted((ROOT / "src").rglob("CMakeLists.txt"))])


def rows_below(heading, page):
    """The cells of the tables below a heading of a page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")]


def test_libraries_that_cmake_requires_are_in_the_page():
    required = set(re.findall(r"find_package\((\S+) REQUIRED", cmake_files())) - {"Threads", "PkgConfig"}
    required |= set(re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET (\S+)\)", cmake_files()))
    assert len(required) >= 10
    rows = rows_below("Other systems", "installation.md")[1:]
    told = {row[2].strip("`") for row in rows if row[3].split(",")[0] in ("all", "the command")}
    assert told == required


def test_options_of_cmake_are_in_the_page():
    options = set(re.findall(r"^option\((TRACESMITH_\w+)", cmake_files(), re.M))
    assert len(options) >= 10
    told = {row[0].strip("`") for row in rows_below("Options", "installation.md")}
    assert options - told == set()


def test_examples_are_in_the_page():
    """Each program of examples/CMakeLists.txt, by the name that it has when it is built, and each of Python."""
    text = (ROOT / "examples" / "CMakeLists.txt").read_text(encoding="utf-8")
    (several,) = re.findall(r"foreach\(_name ([^)]*)\)", text)
    renamed = dict(re.findall(r"set_target_properties\((\w+) PROPERTIES OUTPUT_NAME (\w+)\)", text))
    programs = {renamed.get(name, name) for name in re.findall(r"add_executable\((\w+)", text) + several.split()}
    programs |= {file.name for file in (ROOT / "examples").glob("*.py")}
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    told = set(re.findall(r"\[([\w.]+)\]\(", "".join(line for line in page.splitlines() if line.startswith("|"))))
    assert "memory_profiler_example" in programs
    assert programs - told == set()
    for target in re.findall(r"\]\(([^)]+)\)", page):
        assert (ROOT / "examples" / target).exists(), target
