#: from: readme / C++ CLI Examples
#: given: bin, programs, trace.sbt
# Profile a Python script (records GPU events during execution)
#: leaves: trace.sbt: 2 kernel
./bin/tracesmith profile -- python train.py
#: leaves: model.sbt: 10 kernel
./bin/tracesmith profile -o model.sbt -- python train.py --epochs 10
#: leaves: trace.sbt: 3 kernel, 7 copy
#: leaves: trace.pftrace: 3 kernel, 7 copy
./bin/tracesmith profile --perfetto -- ./my_cuda_app

# Use Apple Instruments (xctrace) for real Metal GPU events on macOS
#: without 125: xctrace: was not found
#: leaves: trace.sbt
./bin/tracesmith profile --xctrace -- python train.py
#: without 125: xctrace: was not found
#: leaves: trace.sbt
./bin/tracesmith profile --xctrace --keep-trace -- python mps_benchmark.py
#: without 125: xctrace: was not found
#: leaves: trace.sbt
./bin/tracesmith profile --xctrace --xctrace-template "GPU Driver" -- ./app

# Record a trace (auto-detect GPU platform)
#: without 2: a synthetic trace:  tracesmith record -p simulation -d 5
#: note: records the program that was started with `tracesmith arm` (CUDA); without one it asks, and `-p simulation` makes events up when that is what is wanted
#: leaves: trace.sbt
./bin/tracesmith record -o trace.sbt -d 5

# Record with specific platform
#: without 2: nothing to record
#: note: the same of CUDA alone; a CUDA program is also recorded with `profile -- PROGRAM`, one of several armed ones with `record --pid`
#: leaves: trace.sbt
./bin/tracesmith record -o trace.sbt -d 10 -p cuda

# View trace with statistics
#: shows: vectorAdd
./bin/tracesmith view trace.sbt --stats

# Show trace file info
#: shows: Linux
#: shows: my_cuda_app
./bin/tracesmith info trace.sbt

# Export to Perfetto (view at ui.perfetto.dev)
#: shows: https://ui.perfetto.dev
#: leaves: trace.pftrace: 3 kernel
./bin/tracesmith export trace.sbt -f perfetto

# Analyze performance
#: shows: matrixMul
./bin/tracesmith analyze trace.sbt

# Replay trace (dry-run)
#: shows: nothing was executed or compared
./bin/tracesmith replay trace.sbt --mode dry-run

# List available GPUs
#: shows: OpenCL
./bin/tracesmith devices

# Disable colored output
#: shows: Usage: tracesmith
./bin/tracesmith --no-color help
