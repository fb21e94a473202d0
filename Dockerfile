# SPDX-License-Identifier: Apache-2.0
# The command, an OpenCL device that runs on any processor, and the OpenCL demo.
#
#   docker build -t tracesmith .
#   docker run -it tracesmith                                     # says what can be recorded here
#   docker run -v "$PWD:/work" tracesmith profile -o run.sbt -- opencl_demo
#
# For CUDA programs, with NVIDIA's container toolkit and its driver on the host:
#
#   docker build -t tracesmith:cuda --build-arg CUPTI=nvidia-cuda-cupti==13.5.25 .
#   docker run --gpus all -v "$PWD:/work" tracesmith:cuda profile -o run.sbt -- ./program
ARG BASE=docker.io/library/debian:12-slim

FROM ${BASE} AS build
COPY . /source
WORKDIR /source
RUN script/bootstrap build && script/studio
RUN cmake --preset release -DTRACESMITH_BUILD_TESTS=OFF -DTRACESMITH_CCACHE= \
    && cmake --build --preset release
RUN apt-get install -y --no-install-recommends dpkg-dev file \
    && cd build/release && cpack -G DEB
# CUPTI of NVIDIA's package, if one is named; an empty folder otherwise.
ARG CUPTI=""
RUN mkdir -p /cupti && if [ -n "$CUPTI" ]; then \
      python3 -m venv /venv && /venv/bin/pip install --no-deps --target /venv/cupti "$CUPTI" \
      && find /venv/cupti -name 'libcupti.so.*' -exec cp -L {} /cupti/ ';'; \
    fi

FROM ${BASE}
COPY --from=build /source/build/release/packages/tracesmith_*.deb /var/tmp/
COPY --from=build /source/build/release/bin/opencl_demo /usr/local/bin/
COPY --from=build /cupti/ /usr/local/lib/
# Of the compiler that PoCL calls, only what it calls: it links kernels, but compiles no C. Its library of OpenCL's
# functions is there once per kind of processor, 3 MB each: those without AVX2 share that for the oldest.
COPY packaging/image/left_out.cfg /etc/dpkg/dpkg.cfg.d/left_out
RUN apt-get update \
    && apt-get install -y --no-install-recommends /var/tmp/tracesmith_*.deb ocl-icd-libopencl1 pocl-opencl-icd \
    && cd /usr/share/pocl && for old in kernel-*-sse2.bc; do for kind in GENERIC ssse3 sse41 avx avx_f16c avx_fma4; do \
         [ ! -e "$old" ] || ln -s "$old" "${old%sse2.bc}$kind.bc"; \
       done; done \
    && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /var/tmp/*.deb /etc/dpkg/dpkg.cfg.d/left_out \
    && ldconfig \
    && useradd --create-home --uid 1000 tracesmith \
    && mkdir /work && chown tracesmith /work
# What NVIDIA's container toolkit is asked for.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER tracesmith
WORKDIR /work
ENTRYPOINT ["tracesmith"]
CMD ["devices"]
