#: from: readme / Docker
#: left out: there is no image; instead: `script/build` on a Debian 12, which has all that a container would
docker build -t tracesmith .
#: left out: there is no image; instead: `script/demo`
docker run -it tracesmith
