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
PYTHON = {
    "python_traces.md": ("Python: traces", "Traces and their tables, queries, analyses, recording."),
    "python_events.md": ("Python: events", "Single events, sessions, profilers, replay: the names of the C++ API."),
}
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s:]+)(#[^)\s]*)?\)")


def python_names():
    """Page → the public names that it documents: those of the Python modules, and those of the compiled one."""
    module = ast.parse((ROOT / "python/tracesmith/__init__.py").read_text(encoding="utf-8"))
    names = {"python_traces.md": [], "python_events.md": []}
    for node in module.body:
        if isinstance(node, ast.ImportFrom):
            compiled = node.module in ("tracesmith._core", "tracesmith._api")
            page = "python_events.md" if compiled else "python_traces.md"
            names[page] += [alias.name for alias in node.names if not alias.asname]
    return names


def on_files(files, config):
    for name in BESIDE:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for page, names in python_names().items():
        title, about = PYTHON[page]
        said = [f"# {title}", about] + [f"::: tracesmith.{name}" for name in sorted(names, key=str.lower)]
        files.append(File.generated(config, page, content="\n\n".join(said) + "\n"))
    for page, said in cpp_reference.pages():
        files.append(File.generated(config, page, content=said))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links that hold in the project's tree hold in the site; a file that is no page stays a name."""
    here = page.file.src_uri if page.file.src_uri in BESIDE else f"docs/{page.file.src_uri}"

    def mended(found):
        label, target, anchor = found[1], found[2], found[3] or ""
        path = os.path.normpath(os.path.join(os.path.dirname(here), target))
        uri = path[len("docs/"):] if path.startswith("docs/") else path
        if files.get_file_from_path(uri):
            return f"[{label}]({os.path.relpath(uri, os.path.dirname(page.file.src_uri) or '.')}{anchor})"
        return label if (ROOT / path).exists() and not path.startswith("docs/") else found[0]

    return LINK.sub(mended, markdown)
