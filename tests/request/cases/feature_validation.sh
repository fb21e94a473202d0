#: from: readme / Feature Validation
#: given: checkout, build
#: in: TraceSmith
# Build and run feature validation
cd build
#: elsewhere: case `cmake_options`, with the same options
cmake .. -DTRACESMITH_ENABLE_CUDA=ON -DTRACESMITH_BUILD_EXAMPLES=ON
#: elsewhere: `script/test unit` builds the target
make goal_validation_example
#: shows: 0 fail,
./bin/goal_validation_example
