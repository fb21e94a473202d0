#: from: summary / Install via pip
#: left out: the address is the earlier tool's; instead: `pip install .` in a checkout
pip install git+https://github.com/chenxingqiang/TraceSmith.git
