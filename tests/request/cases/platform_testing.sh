#: from: readme / Platform-Specific Testing
#: from: package page
#: given: bin
#: without 77: no CUDA
./bin/cupti_example
#: left out: there is no agent for Metal; instead: `tracesmith profile --xctrace -- PROGRAM` on macOS, or `tracesmith import` of what it exports
./bin/metal_example
./bin/stack_capture_example
