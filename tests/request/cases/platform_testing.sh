#: from: readme / Platform-Specific Testing
#: from: package page
#: given: bin
#: without 77: no CUDA
#: shows: CUPTI 
./bin/cupti_example
#: left out: there is no agent for Metal; instead: `tracesmith profile --xctrace -- PROGRAM` on macOS, or `tracesmith import` of what it exports
./bin/metal_example
#: shows: ns a stack, 
./bin/stack_capture_example
