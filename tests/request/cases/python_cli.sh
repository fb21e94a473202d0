#: from: readme / Python CLI Examples
#: with: package
#: given: programs, trace.sbt
# Profile a command (record + execute in one step)
#: leaves: trace.sbt: 2 kernel
tracesmith-cli profile -- python train.py
#: leaves: model.sbt: 10 kernel
tracesmith-cli profile -o model.sbt -- python train.py --epochs 10
#: leaves: trace.sbt: 2 kernel
#: leaves: trace.pftrace: 2 kernel
tracesmith-cli profile --perfetto -- python inference.py

# Use Apple Instruments (xctrace) for real Metal GPU events on macOS
#: without 125: xctrace: was not found
#: leaves: trace.sbt
tracesmith-cli profile --xctrace -- python train.py
#: without 125: xctrace: was not found
#: leaves: trace.sbt
tracesmith-cli profile --xctrace --keep-trace -- python mps_benchmark.py

# Show system info
#: shows: OpenCL
tracesmith-cli info

# List GPU devices
#: shows: OpenCL   1 device
tracesmith-cli devices

# Record a trace
#: without 2: a synthetic trace:  tracesmith record -p simulation -d 5
#: note: records the program that was started with `tracesmith arm` (CUDA); without one it asks, and `-p simulation` makes events up when that is what is wanted
#: leaves: trace.sbt
tracesmith-cli record -o trace.sbt -d 5

# View trace contents
#: shows: matmul
tracesmith-cli view trace.sbt --stats

# Export to Perfetto
#: leaves: trace.json: 2 kernel
tracesmith-cli export trace.sbt -o trace.json

# Analyze trace
#: shows: matmul
tracesmith-cli analyze trace.sbt

# Replay trace
#: shows: nothing was executed or compared
tracesmith-cli replay trace.sbt --mode dry-run
