#: from: readme / Run Tests
#: given: bin
# Run all tests
#: elsewhere: `script/test` (ctest runs this very case)
ctest --output-on-failure

# Run specific test
#: shows: [       OK ] RingBuffer
./bin/tracesmith_tests --gtest_filter="RingBuffer*"
