# SPDX-License-Identifier: Apache-2.0
"""The C++ reference: pages in Markdown from what Doxygen reads in the public headers.

Public are the headers that include/tracesmith names, and those of what every signature has."""
import re
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BESIDE = ["base/overflow_policy.hpp", "base/result.hpp"]
KINDS = {"typedef": "Types", "enum": "Enumerations", "function": "Functions", "variable": "Constants"}


def headers():
    """Room → its public headers, in order of their names."""
    names = set(BESIDE)
    for file in (ROOT / "include").rglob("*.hpp"):
        names.update(re.findall(r'#include "tracesmith/([^"]+)"', file.read_text(encoding="utf-8")))
    rooms = {}
    for name in sorted(names):
        if (ROOT / "src/tracesmith" / name).is_file():
            rooms.setdefault(name.split("/", maxsplit=1)[0], []).append(name)
    return rooms


def read(names):
    """What Doxygen says of these headers: its compounds, as XML."""
    with tempfile.TemporaryDirectory() as folder:
        files = " ".join(f'"{ROOT}/src/tracesmith/{name}"' for name in names)
        said = f"""
            QUIET=YES\nWARNINGS=NO\nINPUT={files}\nOUTPUT_DIRECTORY={folder}\nGENERATE_HTML=NO
            GENERATE_LATEX=NO\nGENERATE_XML=YES\nXML_PROGRAMLISTING=NO\nEXTRACT_ALL=YES\nENABLE_PREPROCESSING=NO
            STRIP_FROM_PATH="{ROOT}/src/tracesmith"\nAUTOLINK_SUPPORT=NO\nHIDE_UNDOC_CLASSES=NO
        """
        subprocess.run(["doxygen", "-"], input=said, text=True, check=True)
        return [ET.parse(file).getroot().find("compounddef") for file in sorted(Path(folder).glob("xml/*.xml"))
                if file.name not in ("index.xml", "Doxyfile.xml")]


def text(node):
    """A description as Markdown."""
    if node is None:
        return ""
    parts = [node.text or ""]
    for child in node:
        inner = text(child)
        if child.tag == "computeroutput":
            inner = f"`{inner}`"
        elif child.tag == "para":
            inner = inner.strip() + "\n\n"
        elif child.tag == "listitem":
            inner = "- " + inner.strip().replace("\n", "\n  ") + "\n"
        parts += [inner, child.tail or ""]
    return "".join(parts)


def description(node):
    both = text(node.find("briefdescription")).strip() + "\n\n" + text(node.find("detaileddescription")).strip()
    return both.strip()


def tidy(said):
    """C++ as the house writes it; Doxygen has spaces of its own."""
    said = re.sub(r"\s+", " ", re.sub(r"< | >", lambda found: found[0].strip(), said)).replace("::  ", "::")
    return re.sub(r" ([&*])(?=\w)", r"\1 ", re.sub(r" ([&*]+)(?=[,>)]|$)", r"\1", said)).strip()


def plain(node):
    return "" if node is None else tidy("".join(node.itertext()))


def opening(name):
    """What the head of a header says, below the licence."""
    lines = []
    for line in (ROOT / "src/tracesmith" / name).read_text(encoding="utf-8").splitlines()[1:]:
        if not line.startswith("//"):
            break
        line = line[3:]
        if line.startswith("  ") and not line.lstrip().startswith("- "):
            if lines and lines[-1] and not lines[-1].startswith("    "):
                lines.append("")
            line = "    " + line.strip()
        elif lines and lines[-1].startswith("    ") and line:
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def declaration(member):
    """As it stands in the header, on one line."""
    kind = member.get("kind")
    if kind == "typedef":
        return f"using {member.findtext('name')} = {plain(member.find('type'))};"
    if kind == "enum":
        strong = "enum class" if member.get("strong") == "yes" else "enum"
        width = f" : {plain(member.find('type'))}" if plain(member.find("type")) else ""
        return f"{strong} {member.findtext('name')}{width};"
    types = ", ".join(plain(p.find("type")) + (f" {p.findtext('declname')}" if p.find("declname") is not None else "")
                      for p in member.findall("templateparamlist/param"))
    words = [f"template <{types}>"] if types else []
    words += [word for word in ("static", "explicit") if member.get(word) == "yes"]
    words.append(plain(member.find("type")))
    words.append(member.findtext("name") + (member.findtext("argsstring") or ""))
    said = " ".join(word for word in words if word)
    return re.sub(r"(?<=[\w>&*)]) ?= ?(?=[\w{\"])", " = ", tidy(said)) + ";"


def fields(members):
    rows = ["| field | type | meaning |", "|---|---|---|"]
    for member in members:
        start = re.sub(r"^[={ ]+|[} ]+$", "", plain(member.find("initializer")))
        about = re.sub(r"\s+", " ", description(member)).replace("|", "\\|")
        if start:
            about = f"{about.rstrip('.')}{'; ' if about else ''}default `{start}`"
        rows.append(f"| `{member.findtext('name')}` | `{plain(member.find('type'))}` | {about} |")
    return "\n".join(rows)


def one(member):
    said = f"```cpp\n{declaration(member)}\n```\n\n{description(member)}".rstrip()
    values = member.findall("enumvalue")
    if not values:
        return said
    rows = "\n".join(f"| `{v.findtext('name')}` | {re.sub(chr(10), ' ', description(v))} |" for v in values)
    return f"{said}\n\n| value | meaning |\n|---|---|\n{rows}"


def listed(members):
    """Those that say nothing of themselves stand together."""
    parts, silent = [], []
    for member in members:
        if description(member) or member.findall("enumvalue"):
            parts.append(one(member))
        elif not (member.findtext("name") or "").startswith("operator") and "delete" not in declaration(member):
            silent.append(declaration(member))
    if silent:
        parts.append("```cpp\n" + "\n".join(silent) + "\n```")
    return parts


def compound(node, level):
    name = node.findtext("compoundname").replace("tracesmith::", "")
    parts = ["#" * level + f" {node.get('kind')} `{name}`", description(node)]
    members = [m for m in node.iter("memberdef") if m.get("prot") == "public" and m.get("kind") != "friend"]
    variables = [m for m in members if m.get("kind") == "variable"]
    if variables:
        parts.append(fields(variables))
    return parts + listed([m for m in members if m.get("kind") != "variable"])


def pages():
    """Name of a page → its Markdown: one for each room."""
    rooms = headers()
    compounds = read([name for names in rooms.values() for name in names])
    for room, names in rooms.items():
        parts = [f"# C++: `{room}`", "Made from the headers by Doxygen; all is in the namespace `tracesmith`. What a "
                 "comment says of several members at once stands only in the header itself."]
        for name in names:
            here = {"class": [], "struct": []}
            free = []
            for node in compounds:
                place = node.find("location")
                if node.get("kind") in here and place is not None and place.get("file") == name:
                    here[node.get("kind")].append(node)
                elif node.get("kind") == "namespace":
                    free += [m for m in node.iter("memberdef") if m.find("location").get("file") == name]
            parts += [f"## {name}", f"```cpp\n#include <tracesmith/{name}>\n```", opening(name)]
            inner = sorted(here["class"] + here["struct"], key=lambda n: int(n.find("location").get("line")))
            for node in inner:
                if node.get("prot") == "public" and "detail" not in node.findtext("compoundname"):
                    parts += compound(node, 3)
            for kind, title in KINDS.items():
                said = listed([m for m in free if m.get("kind") == kind])
                if said:
                    parts += [f"### {title} of {name}"] + said
        yield f"cpp_{room}.md", "\n\n".join(part for part in parts if part) + "\n"
