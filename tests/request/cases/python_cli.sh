#: from: readme / Python CLI Examples
#: with: package
#: given: programs, trace.sbt
# Profile a command (record + execute in one step)
tracesmith-cli profile -- python train.py
tracesmith-cli profile -o model.sbt -- python train.py --epochs 10
tracesmith-cli profile --perfetto -- python inference.py

# Use Apple Instruments (xctrace) for real Metal GPU events on macOS
#: without 125: xctrace: was not found
tracesmith-cli profile --xctrace -- python train.py
#: without 125: xctrace: was not found
tracesmith-cli profile --xctrace --keep-trace -- python mps_benchmark.py

# Show system info
#: shows: OpenCL
tracesmith-cli info

# List GPU devices
tracesmith-cli devices

# Record a trace
#: without 2: a synthetic trace:  tracesmith record -p simulation -d 5
#: note: records the program that was started with `tracesmith arm` (CUDA); without one it asks, and `-p simulation` makes events up when that is what is wanted
tracesmith-cli record -o trace.sbt -d 5

# View trace contents
#: shows: matmul
tracesmith-cli view trace.sbt --stats

# Export to Perfetto
tracesmith-cli export trace.sbt -o trace.json

# Analyze trace
tracesmith-cli analyze trace.sbt

# Replay trace
tracesmith-cli replay trace.sbt --mode dry-run
