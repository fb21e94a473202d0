#: from: readme / Python CLI Real GPU Benchmark
# Install CuPy first
#: left out: this project is on no package index (that name is the earlier tool's); instead: `pip install .` in a checkout
pip install tracesmith[cuda12]

# Run real GPU benchmark
#: without 1: no OpenCL GPU was found
#: note: with a GPU it measures; without one it says so. It needs no CuPy
#: shows: launches
tracesmith-cli benchmark --real-gpu -n 10000
