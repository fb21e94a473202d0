#: from: readme / Usage
#: with: package
#: given: bin, programs
#: note: with a stand-in for `xctrace`: `tests/cli/profile_tools_test.py`
# Python CLI (recommended - includes event parsing)
#: without 125: xctrace: was not found
#: leaves: trace.sbt
tracesmith-cli profile --xctrace -- python train.py
#: without 125: xctrace: was not found
#: leaves: model.sbt
tracesmith-cli profile --xctrace --keep-trace -o model.sbt -- python inference.py
#: without 125: xctrace: was not found
#: leaves: trace.sbt
#: leaves: trace.pftrace
tracesmith-cli profile --xctrace --perfetto -- python benchmark.py

# C++ CLI (calls xctrace, outputs raw .trace file)
#: without 125: xctrace: was not found
#: leaves: trace.sbt
./bin/tracesmith profile --xctrace -- python train.py
#: without 125: xctrace: was not found
#: leaves: trace.sbt
./bin/tracesmith profile --xctrace --xctrace-template "GPU Driver" -- ./app
