#: from: getting started / Command Line
#: given: trace.sbt, bin
# Record a trace (simulation mode)
#: without 2: a synthetic trace:  tracesmith record -p simulation -d 5
#: note: records the program that was started with `tracesmith arm` (CUDA); without one it asks, and `-p simulation` makes events up when that is what is wanted
#: leaves: trace.sbt
./bin/tracesmith-cli record -o trace.sbt -d 5

# View trace contents
#: shows: clCreateContext
./bin/tracesmith-cli view trace.sbt

# Get trace info
#: shows: opencl_demo
./bin/tracesmith-cli info trace.sbt
