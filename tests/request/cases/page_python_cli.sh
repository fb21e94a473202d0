#: from: package page
#: with: package
#: given: programs
# NVIDIA CUDA - Use --nsys (REQUIRED for GPU profiling)
#: without 125: nsys: not found on PATH
#: leaves: trace.sbt
tracesmith-cli profile --nsys -- python train.py
#: without 125: nsys: not found on PATH
#: leaves: trace.sbt
#: leaves: trace.pftrace
tracesmith-cli profile --nsys --perfetto -- ./my_cuda_app
#: without 125: nsys: not found on PATH
#: leaves: model.sbt
tracesmith-cli profile --nsys -o model.sbt -- python train.py --epochs 10
# MetaX MACA - Use --mctracer (REQUIRED for GPU profiling)
#: without 125: mcTracer: was not found
#: leaves: trace.sbt
tracesmith-cli profile --mctracer -- ./my_maca_app
#: without 125: mcTracer: was not found
#: leaves: trace.sbt
#: leaves: trace.pftrace
tracesmith-cli profile --mctracer --perfetto -- python train.py
