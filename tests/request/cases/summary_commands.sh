#: from: summary / Quick Command Reference
#: given: checkout
#: given: trace.sbt, bin
# Clone
#: left out: the address is the earlier tool's; instead: a copy of this checkout lies there
git clone https://github.com/chenxingqiang/TraceSmith.git

# Build C++
#: elsewhere: `script/build`, `script/test unit`
mkdir build && cd build && cmake .. && make

# Install Python
#: elsewhere: `python/tests/test_build.py`: pip configures it so in an environment of its own, and compiles a part; `script/test docs` installs the wheel of a whole build into an empty environment
pip install .

# Run examples
#: shows: All of it:
./build/bin/phase4_example
#: left out: it needs the package of Python; instead: the same file as `examples/basic_usage.py` (case `python_examples`)
python3 python/examples/basic_usage.py

# Docker
#: left out: there is no Docker where the cases run; instead: `script/packages image` makes the same image with buildah
docker build -t tracesmith .
#: left out: there is no Docker where the cases run; instead: `script/packages image` starts the image, which says what can be recorded
docker run -it tracesmith

# CLI
#: without 2: a synthetic trace:  tracesmith record -p simulation -d 5
#: note: records the program that was started with `tracesmith arm` (CUDA); without one it asks, and `-p simulation` makes events up when that is what is wanted
#: leaves: trace.sbt
./build/bin/tracesmith-cli record -o trace.sbt -d 5
#: shows: clCreateContext
./build/bin/tracesmith-cli view trace.sbt
