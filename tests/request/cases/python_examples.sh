#: from: readme / Python Examples with Cross-Platform Device Support
#: with: package
#: given: examples
# Run examples on specific device
#: shows: basic_usage.pftrace
#: note: a device that is not there is replaced by the best one, and that is printed
python examples/basic_usage.py --device cuda    # NVIDIA GPU
#: shows: basic_usage.pftrace
python examples/basic_usage.py --device mps     # Apple Silicon
#: shows: basic_usage.pftrace
python examples/basic_usage.py --device rocm    # AMD GPU
#: shows: basic_usage.pftrace
python examples/basic_usage.py --device cpu     # CPU fallback

# Run all examples with test runner
#: shows: 0 failed
#: shows: passed   record
#: shows: passed   stacks
#: shows: passed   timeline
#: shows: passed   replay
python examples/run_tests.py                    # Best available device
#: shows: 0 failed
#: shows: passed   basic on opencl
#: shows: passed   device on cpu
python examples/run_tests.py --all-devices      # Test on all devices
#: without 77: no module named 'torch'
#: shows: passed   pytorch
python examples/run_tests.py --test pytorch     # Run specific test
#: shows: pytorch
python examples/run_tests.py --list             # List available tests
