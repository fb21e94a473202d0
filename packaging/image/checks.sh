# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by script/packages: the image that Dockerfile describes, made by buildah, which needs no daemon.
# shellcheck disable=SC2154 # place, bare and root are the script's

most_megabytes=150 # compressed
cupti=nvidia-cuda-cupti==13.5.25 # as Dockerfile says

builder() { buildah --storage-driver vfs --root "$place/images" --runroot "$place/images-run" "$@"; }

# Debian, as its image has it, from the bare system here: no registry is asked.
make_base_image() {
  make_bare
  inside apt-get purge -y pocl-opencl-icd ocl-icd-libopencl1
  inside apt-get autoremove -y
  inside apt-get clean
  # What Debian's smaller image leaves out.
  find "$bare/usr/share/doc" -type f ! -name copyright -delete
  rm -rf "$bare"/usr/share/{man,locale,info,lintian}/* "$bare"/var/lib/apt/lists/* "$bare"/var/cache/* "$bare"/var/log/*
  leave_bare
  builder rmi --all --force >/dev/null 2>&1 || true
  local container
  container="$(builder from scratch)"
  builder add -q "$container" "$bare" /
  builder config --cmd /bin/bash "$container"
  builder commit -q --rm "$container" tracesmith-base
}

# How this machine reaches the package indexes of Python and npm.
settings_of_indexes() {
  local file
  if [[ -e /root/.npmrc ]]; then cat /root/.npmrc; fi >"$place/npmrc"
  file="${NODE_EXTRA_CA_CERTS:-}"
  if [[ -n $file ]]; then
    printf 'cafile=%s\n' "$file" >>"$place/npmrc"
    printf '%s\n' "--volume=$file:$file:ro"
  fi
  printf '%s\n' "--volume=$place/npmrc:/root/.npmrc:ro"
  [[ ! -e /etc/pip.conf ]] || printf '%s\n' "--volume=/etc/pip.conf:/etc/pip.conf:ro"
}

# make_image NAME OPTIONS...
make_image() {
  local settings name="$1"
  shift
  mapfile -t settings < <(settings_of_indexes)
  builder bud --isolation chroot --layers --build-arg BASE=localhost/tracesmith-base "${settings[@]}" "$@" -t "$name" .
}

in_image() { # NAME ARGUMENTS...: as `docker run` starts it
  local name="$1" container code=0
  shift
  container="$(builder from "localhost/$name")"
  builder run --isolation chroot "$container" -- tracesmith "$@" || code=$?
  builder rm "$container" >/dev/null
  return "$code"
}
image_says_what_it_can() { in_image tracesmith devices | grep 'Can be recorded here: OpenCL'; }
image_records() {
  local container
  container="$(builder from localhost/tracesmith)"
  run() { builder run --isolation chroot "$container" -- "$@"; }
  [[ $(run id -u) == 1000 ]]
  run tracesmith profile --record -o run.sbt -- opencl_demo
  run tracesmith view --stats run.sbt | grep matrixMul
  run tracesmith report run.sbt -o report.html
  run tracesmith replay --verify run.sbt
  builder rm "$container"
}
# There is no driver here: CUPTI can be found and has what it links.
image_has_cupti() {
  local container
  container="$(builder from localhost/tracesmith-cuda)"
  run() { builder run --isolation chroot "$container" -- "$@"; }
  run sh -c '/sbin/ldconfig -p' | grep 'libcupti.so.13 '
  run sh -c 'ldd /usr/local/lib/libcupti.so.13' | tee "$place/cupti.ldd"
  ! grep 'not found' "$place/cupti.ldd"
  run tracesmith devices | grep -E 'CUDA .*--gpus all'
  builder rm "$container"
}
# What a user starts without arguments.
image_has_its_entry_point() {
  [[ $(builder inspect --type image --format '{{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}} {{.OCIv1.Config.User}}' \
    localhost/tracesmith) == '[tracesmith] [devices] tracesmith' ]]
}
image_is_small() {
  local size
  rm -rf "$place/image.oci"
  builder push -q localhost/tracesmith "oci:$place/image.oci"
  size="$(($(du -s --bytes "$place/image.oci" | cut -f 1) / 1000000))"
  printf 'the image has %d MB, compressed\n' "$size" >&3
  ((size <= most_megabytes))
}

test_image() {
  say "image"
  use_bare bookworm
  check "a base for the image" make_base_image
  check "the image" make_image tracesmith
  check "its entry point" image_has_its_entry_point
  check "what can be recorded in it" image_says_what_it_can
  check "record and replay in it" image_records
  check "size of the image" image_is_small
  check "the image for CUDA" make_image tracesmith-cuda --build-arg "CUPTI=$cupti"
  check "CUPTI in it" image_has_cupti
}
