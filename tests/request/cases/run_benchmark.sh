#: from: readme / How to Run the Benchmark
#: given: checkout
# On NVIDIA GPU server with CUDA
#: left out: the address is the earlier tool's; instead: a copy of this checkout lies there
git clone https://github.com/chenxingqiang/TraceSmith.git
cd TraceSmith
mkdir build && cd build

# Build with CUDA support
#: elsewhere: case `cmake_options`, with the same options
cmake .. -DTRACESMITH_ENABLE_CUDA=ON -DTRACESMITH_BUILD_EXAMPLES=ON
#: elsewhere: `script/test unit` builds the target
#: does: ln -s "$TRACESMITH_BIN" bin
make benchmark_10k_stacks -j8

# Run the benchmark
#: shows: 10000 launches through 64 call paths
./bin/benchmark_10k_stacks
