#: from: readme / PyPI Package
# Basic installation
#: left out: this project is on no package index (that name is the earlier tool's); instead: `pip install .` in a checkout
pip install tracesmith==0.8.0

# With CuPy for real GPU profiling in Python CLI (choose one):
#: left out: this project is on no package index (that name is the earlier tool's); instead: `pip install '.[cuda12]'` in a checkout
pip install tracesmith[cuda12]    # CUDA 12.x
#: left out: this project is on no package index (that name is the earlier tool's); instead: `pip install '.[cuda11]'` in a checkout
pip install tracesmith[cuda11]    # CUDA 11.x
#: left out: this project is on no package index (that name is the earlier tool's); instead: `pip install '.[cuda118]'` in a checkout
pip install tracesmith[cuda118]   # CUDA 11.8 specific
#: left out: this project is on no package index (that name is the earlier tool's); instead: `pip install '.[cuda120]'` in a checkout
pip install tracesmith[cuda120]   # CUDA 12.0 specific

# With visualization tools
#: left out: this project is on no package index (that name is the earlier tool's); instead: `pip install '.[visualization]'` in a checkout
pip install tracesmith[visualization]

# With PyTorch integration
#: left out: this project is on no package index (that name is the earlier tool's); instead: `pip install '.[torch]'` in a checkout
pip install tracesmith[torch]

# All optional dependencies
#: left out: this project is on no package index (that name is the earlier tool's); instead: `pip install '.[all]'` in a checkout
pip install tracesmith[all]
