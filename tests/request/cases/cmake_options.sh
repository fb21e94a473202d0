#: from: readme / Build Examples
#: with: package
#: given: checkout
#: in: TraceSmith/build
# Release build with Metal support (macOS)
#: shows: this version has no Metal agent
cmake .. -DCMAKE_BUILD_TYPE=Release -DTRACESMITH_ENABLE_METAL=ON
#: elsewhere: `script/test unit minimal` build with and without these parts
cmake --build . -j$(nproc)

# CUDA build (Linux/Windows with NVIDIA GPU)
#: shows: libcupti is found at run time
cmake .. -DCMAKE_BUILD_TYPE=Release -DTRACESMITH_ENABLE_CUDA=ON
#: elsewhere: `script/test unit minimal` build with and without these parts
cmake --build . -j$(nproc)

# Full build with all features
#: shows: TRACESMITH_USE_PERFETTO_SDK is accepted for compatibility
cmake .. -DCMAKE_BUILD_TYPE=Release \
         -DTRACESMITH_ENABLE_METAL=ON \
         -DTRACESMITH_BUILD_PYTHON=ON \
         -DTRACESMITH_USE_PERFETTO_SDK=ON
#: elsewhere: `script/test unit minimal` build with and without these parts
cmake --build . -j$(nproc)

# Minimal build (library only, no tests/examples/CLI)
#: shows: TRACESMITH_BUILD_TESTS is OFF
cmake .. -DTRACESMITH_BUILD_TESTS=OFF \
         -DTRACESMITH_BUILD_EXAMPLES=OFF \
         -DTRACESMITH_BUILD_CLI=OFF
#: elsewhere: `script/test unit minimal` build with and without these parts
cmake --build . -j$(nproc)
