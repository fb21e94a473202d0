#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of the how-to pages in docs/images, from the programs and traces that the pages use.
Usage: build/venv/bin/python script/pictures.py [BIN_DIR]   (default: build/release/bin)"""
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt

import tracesmith

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs/images"
TRAINING = ROOT / "tests/data/pytorch/training_stack.json.gz"


def profile(binaries, output, *program):
    """Records a program of BIN_DIR."""
    subprocess.run([binaries / "tracesmith", "profile", "-q", "--stacks", "-o", output, "--", binaries / program[0],
                    *program[1:]], check=True, stdout=subprocess.DEVNULL)
    return tracesmith.open(output)


def save(name, axes):
    """Without a date and with fixed ids, so that equal pictures are equal files."""
    text = io.StringIO()
    axes.figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    plt.close(axes.figure)
    (IMAGES / f"{name}.svg").write_text(re.sub(r"[ \t]+$", "", text.getvalue(), flags=re.M))
    print(f"docs/images/{name}.svg")


def main():
    binaries = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/bin").resolve()
    matplotlib.use("svg")
    plt.rcParams.update({"svg.hashsalt": "tracesmith", "figure.facecolor": "white"})
    with tempfile.TemporaryDirectory() as folder:
        run = profile(binaries, Path(folder) / "run.sbt", "opencl_demo", "--repeat", "5")
        save("howto_idle", run.plot.idle())
        save("howto_memory", run.plot.memory())
        before = profile(binaries, Path(folder) / "before.sbt", "opencl_demo", "--repeat", "10")
        after = Path(folder) / "after.sbt"
        profile(binaries, after, "opencl_demo", "--repeat", "10")
        save("howto_compare", before.plot.compare(after))
    training = tracesmith.open(TRAINING)
    save("howto_operators", training.plot.operators())
    save("howto_flame", training.plot.flame())


main()
