#: from: readme / Python (Recommended)
#: given: checkout
#: with: package
# Install from PyPI (auto-detects GPU platform)
#: left out: this project is on no package index (that name is the earlier tool's); instead: `pip install .` in a checkout
pip install tracesmith

# Platform-specific installation:
# CUDA/CUPTI (NVIDIA GPU)
#: left out: this project is on no package index (that name is the earlier tool's); instead: `pip install .` in a checkout
TRACESMITH_CUDA=1 pip install tracesmith

# ROCm (AMD GPU)
#: left out: this project is on no package index (that name is the earlier tool's); instead: `pip install .` in a checkout
TRACESMITH_ROCM=1 pip install tracesmith

# Metal (Apple GPU)
#: left out: this project is on no package index (that name is the earlier tool's); instead: `pip install .` in a checkout
TRACESMITH_METAL=1 pip install tracesmith

# Verify installation
#: shows: PlatformType.
python -c "import tracesmith; print(tracesmith.__version__, tracesmith.detect_platform())"

# Or install from source
#: left out: the address is the earlier tool's; instead: a copy of this checkout lies there
git clone https://github.com/chenxingqiang/TraceSmith.git
cd TraceSmith
#: elsewhere: `script/test python` installs the package; CUDA's agent is in it always
TRACESMITH_CUDA=1 pip install .  # with CUDA support
