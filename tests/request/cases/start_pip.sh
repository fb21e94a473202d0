#: from: getting started / Python (pip)
#: left out: this project is on no package index (that name is the earlier tool's); instead: `pip install .` in a checkout
pip install tracesmith
