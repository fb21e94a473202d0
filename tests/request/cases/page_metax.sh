#: from: package page
#: given: checkout
#: in: TraceSmith/build
# On MetaX system (MACA SDK auto-detected at /opt/maca-3.0.0)
#: shows: this version has no MACA agent
cmake -DTRACESMITH_ENABLE_MACA=ON ..
#: elsewhere: `script/test unit`
make -j4
# Run examples
#: left out: there is no agent for MACA, so no example of it; instead: `tracesmith profile --mctracer -- PROGRAM`, and `tracesmith import` of what mcTracer writes
./bin/metax_example # Basic profiling demo
#: left out: there is no agent for MACA, so no example of it; instead: `tracesmith profile --mctracer -- PROGRAM`, and `tracesmith import` of what mcTracer writes
./bin/metax_benchmark # Memory bandwidth test
