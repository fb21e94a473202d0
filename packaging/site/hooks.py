# SPDX-License-Identifier: Apache-2.0
"""What mkdocs is told beside mkdocs.yml: pages that are made from the code, pages that lie in the
project's root, and links to files that are no pages."""
import ast
import os
import re
import sys
from pathlib import Path

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))
import cpp_reference  # noqa: E402  pylint: disable=wrong-import-position

ROOT = Path(__file__).resolve().parents[2]
BESIDE = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s:]+)(#[^)\s]*)?\)")


PACKAGE = ROOT / "python" / "tracesmith"


def python_module(file):
    return ast.parse(file.read_text(encoding="utf-8"))


def python_reference():
    """The public names: those of the compiled module and of what stands for the C++ API, and the others; then the
    modules that are imported by themselves. Sources are read, nothing is imported: PyTorch need not be there."""
    traces, events = ["_plot.Plots"], []
    for node in python_module(PACKAGE / "__init__.py").body:
        if isinstance(node, ast.ImportFrom):
            to = events if node.module in ("tracesmith._core", "tracesmith._api") else traces
            to += [alias.name for alias in node.names if not alias.asname]
    pages = [("Python, traces", "Traces and their tables, queries, analyses, plots (`trace.plot` is a `Plots`), recording.",
              traces),
             ("Python, events", "Single events, sessions, profilers, replay: the names of the C++ API.", events)]
    for file in sorted(PACKAGE.glob("[a-z]*.py")):
        module = python_module(file)
        names = next(ast.literal_eval(node.value) for node in module.body if isinstance(node, ast.Assign)
                     and getattr(node.targets[0], "id", "") == "__all__")
        about = f"`import tracesmith.{file.stem}`\n\n{ast.get_docstring(module)}"
        pages.append((f"Python, {file.stem}", about, [f"{file.stem}.{name}" for name in names]))
    for title, about, names in pages:
        entries = [f"::: tracesmith.{name}" for name in sorted(names, key=lambda name: name.split(".")[-1].lower())]
        yield title, title.lower().replace(", ", "_") + ".md", "\n\n".join([f"# {title}", about] + entries) + "\n"


def c_reference():
    """The header of the C API says all of it itself."""
    for front in sorted((ROOT / "include").rglob("*.h")):
        for name in re.findall(r'#include "(tracesmith/[^"]+)"', front.read_text(encoding="utf-8")):
            said = (ROOT / "src" / name).read_text(encoding="utf-8")
            yield "C", "c_api.md", f"# C: `#include <tracesmith/{front.name}>`\n\n```c\n{said}```\n"


def on_config(config):
    """Pages that are made have their place in the reference."""
    made = [*python_reference(), *c_reference()]
    made += [(f"C++, {page[4:-3]}", page, said) for page, said in cpp_reference.pages()]
    config.extra["made"] = {page: said for _, page, said in made}
    reference = next(item["Reference"] for item in config.nav if "Reference" in item)
    reference += [{title: page} for title, page, _ in made]
    return config


def on_files(files, config):
    for name in BESIDE:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for page, said in config.extra["made"].items():
        files.append(File.generated(config, page, content=said))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links that hold in the project's tree hold in the site; a file that is no page stays a name."""
    here = page.file.src_uri if page.file.src_uri in BESIDE else f"docs/{page.file.src_uri}"

    def mended(found):
        image, label, target, anchor = found[1], found[2], found[3], found[4] or ""
        path = os.path.normpath(os.path.join(os.path.dirname(here), target))
        uri = path[len("docs/"):] if path.startswith("docs/") else path
        if files.get_file_from_path(uri):
            return f"{image}[{label}]({os.path.relpath(uri, os.path.dirname(page.file.src_uri) or '.')}{anchor})"
        return label if not image and (ROOT / path).exists() and not path.startswith("docs/") else found[0]

    return LINK.sub(mended, markdown)
