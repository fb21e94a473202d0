#: from: readme / Docker
#: left out: there is no Docker where the cases run; instead: `script/packages image` makes the same image with buildah
docker build -t tracesmith .
#: left out: there is no Docker where the cases run; instead: `script/packages image` starts the image, which says what can be recorded
docker run -it tracesmith
