#: from: package page
# Core build tools
#: left out: the system's package manager, as root; instead: `script/bootstrap` installs what is needed
sudo apt update
#: left out: the system's package manager, as root; instead: `script/bootstrap` installs what is needed
sudo apt install -y cmake g++ make git
# Optional: libunwind for call stack capture
#: left out: call stacks are unwound by our own code; instead: nothing is needed
sudo apt install -y libunwind-dev
# Optional: Python development headers (for Python bindings)
#: left out: the system's package manager, as root; instead: `script/bootstrap` installs what is needed
sudo apt install -y python3-dev python3-pip
# 1. Install CUDA Toolkit (includes CUPTI)
#: left out: building needs no toolkit of CUDA; instead: libcupti is found when a program runs
sudo apt install -y nvidia-cuda-toolkit
# 2. Install Nsight Systems (required for `tracesmith profile --nsys`)
#: left out: a vendor's tool, nothing of ours; instead: `tracesmith profile` records CUDA without it (not yet run on hardware)
sudo apt install -y cuda-nsight-systems-12-8 # Match your CUDA version
#: left out: a vendor's tool, nothing of ours; instead: `tracesmith profile` records CUDA without it (not yet run on hardware)
sudo apt install -y nsight-systems
# 3. Verify installation
#: left out: a vendor's tool, nothing of ours; instead: `tracesmith devices` says what is there
nvcc --version # CUDA compiler
#: left out: a vendor's tool, nothing of ours; instead: `tracesmith devices` says what is there
nsys --version # Nsight Systems profiler (2024.x recommended)
#: left out: a vendor's tool, nothing of ours; instead: `tracesmith devices` says what is there
ls /usr/local/cuda/include/cupti.h # CUPTI headers
# 4. Set environment variables (add to ~/.bashrc)
export PATH=/usr/local/cuda/bin:$PATH
export LD_LIBRARY_PATH=/usr/local/cuda/lib64:$LD_LIBRARY_PATH
# Set MACA_ROOT environment variable
export MACA_ROOT=/opt/maca-3.0.0
# Install Xcode Command Line Tools (includes Metal framework)
#: left out: macOS, where this version does not build; instead: traces of `xctrace` are read on Linux
xcode-select --install
# Install CMake via Homebrew
#: left out: macOS, where this version does not build; instead: traces of `xctrace` are read on Linux
brew install cmake
# Verify Metal support
#: left out: macOS, where this version does not build; instead: traces of `xctrace` are read on Linux
xcrun metal --version
#: left out: a vendor's tool, nothing of ours; instead: `tracesmith profile` records CUDA without it (not yet run on hardware)
sudo apt install cuda-nsight-systems-12-8
