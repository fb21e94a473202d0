#: from: readme / Install
# Install to default location (/usr/local)
#: left out: it would write into the system's folders; instead: an own prefix, as the next command
sudo cmake --install .

# Install to custom prefix
#: elsewhere: `tests/install_test.cmake` installs into an empty prefix and builds a program with it
cmake --install . --prefix /path/to/install

# Installed files:
#   bin/tracesmith          - CLI executable
#   include/tracesmith/     - Header files
#   lib/libtracesmith-*.a   - Static libraries
