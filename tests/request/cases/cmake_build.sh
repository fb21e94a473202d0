#: from: readme / Basic Build
#: left out: the address is the earlier tool's; instead: a copy of this checkout lies there
#: given: checkout
git clone https://github.com/chenxingqiang/TraceSmith.git
cd TraceSmith
mkdir build && cd build
#: leaves: CMakeCache.txt
cmake ..
#: elsewhere: `script/build`, `script/test unit`
cmake --build . -j$(nproc)
