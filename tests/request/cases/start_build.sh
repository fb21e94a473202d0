#: from: getting started / From Source (C++)
#: left out: the address is the earlier tool's; instead: a copy of this checkout lies there
#: given: checkout
git clone https://github.com/chenxingqiang/tracesmith.git
cd tracesmith
mkdir build && cd build
#: elsewhere: case `cmake_build`, the same command
cmake ..
#: elsewhere: `script/build`, `script/test unit`
cmake --build . -j$(nproc)
