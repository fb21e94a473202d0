#: from: package page
#: given: bin, programs
#: note: with stand-ins for the vendors' tools: `tests/cli/nsys_test.py`, `tests/cli/profile_tools_test.py`
# NVIDIA CUDA - Use --nsys (REQUIRED for GPU profiling)
#: without 125: nsys: not found on PATH
#: leaves: trace.sbt
./bin/tracesmith profile --nsys -- python train.py
#: without 125: nsys: not found on PATH
#: leaves: trace.sbt
#: leaves: trace.pftrace
./bin/tracesmith profile --nsys --perfetto -- ./my_cuda_app
#: without 125: nsys: not found on PATH
#: leaves: model.sbt
./bin/tracesmith profile --nsys -o model.sbt -- python train.py --epochs 10
# MetaX MACA - Use --mctracer (REQUIRED for GPU profiling)
#: without 125: mcTracer: was not found
#: leaves: trace.sbt
./bin/tracesmith profile --mctracer -- ./my_maca_app
#: without 125: mcTracer: was not found
#: leaves: trace.sbt
#: leaves: trace.pftrace
./bin/tracesmith profile --mctracer --perfetto -- python train.py
# Profile with nsys (system-wide profiling)
#: without 125: nsys: not found on PATH
#: leaves: trace.sbt
./bin/tracesmith profile --nsys -o trace.sbt -- ./my_cuda_app
# With custom nsys options
#: without 125: nsys: not found on PATH
#: leaves: trace.sbt
./bin/tracesmith profile --nsys --nsys-args="-t cuda,nvtx" -- python benchmark.py
#: shows: libmcruntime.so is not installed
$ ./bin/tracesmith devices
#: without 77: no CUDA
#: shows: CUPTI 
./bin/cupti_example # Run directly, not with --nsys
