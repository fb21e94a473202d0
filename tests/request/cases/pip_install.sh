#: from: readme / Python (Recommended)
#: given: checkout
#: with: package
# Install from PyPI (auto-detects GPU platform)
#: left out: this project is on no package index (that name is the earlier tool's); instead: `pip install .` in a checkout
pip install tracesmith

# Platform-specific installation:
# CUDA/CUPTI (NVIDIA GPU)
#: left out: this project is on no package index (that name is the earlier tool's); instead: `TRACESMITH_CUDA=1 pip install .` in a checkout
TRACESMITH_CUDA=1 pip install tracesmith

# ROCm (AMD GPU)
#: left out: this project is on no package index, and has no ROCm agent: of a checkout the build ends with that reason (`python/tests/test_build.py`); instead: `pip install .` in a checkout, without the variable
TRACESMITH_ROCM=1 pip install tracesmith

# Metal (Apple GPU)
#: left out: this project is on no package index, and has no Metal agent: of a checkout the build ends with that reason (`python/tests/test_build.py`); instead: `pip install .` in a checkout, without the variable
TRACESMITH_METAL=1 pip install tracesmith

# Verify installation
#: shows: PlatformType.
python -c "import tracesmith; print(tracesmith.__version__, tracesmith.detect_platform())"

# Or install from source
#: left out: the address is the earlier tool's; instead: a copy of this checkout lies there
git clone https://github.com/chenxingqiang/TraceSmith.git
cd TraceSmith
#: elsewhere: `python/tests/test_build.py`: pip configures it so in an environment of its own, and compiles a part; `script/test docs` installs the wheel of a whole build into an empty environment
TRACESMITH_CUDA=1 pip install .  # with CUDA support
