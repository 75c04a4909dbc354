# shellcheck shell=bash
# Shared by tools/demo, tools/test and .ci/run (sourced, never run): packages, configure, build. bash.
# Works on a fresh Debian 12 or Ubuntu 24.04 that has nothing but git; package names are the same on both.

say() { printf '%s\n' "$*" >&2; }
die() {
  say "error: $*"
  exit 1
}

# One package a line: what needs it. Everything is a package of the distribution; nothing else is fetched.
gx_build_packages=(
  g++              # compiler
  cmake            # build
  ninja-build      # build
  protobuf-compiler # trace format to C++
  libprotobuf-dev  # reading traces
  zlib1g-dev       # part of a static protobuf
  libabsl-dev      # status, strings, flat maps of the analyzer
  libprotozero-dev # writing traces
  libxxhash-dev    # checksums of trace frames
  libgtest-dev     # tests
  libgmock-dev     # tests
  libbenchmark-dev # benchmarks of the hot paths
  valgrind         # instruction counts of the hot paths
)

# gx_install PURPOSE PACKAGE...: installs with apt what is missing, and says so. Silent when nothing is missing.
gx_install() {
  local purpose=$1
  shift
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "note: no apt here; $purpose needs what Debian calls: $*"
    return 0
  fi
  local missing=() package
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  say "Installing with apt, to $purpose: ${missing[*]}"
  local as_root=()
  if ((EUID != 0)); then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
      as_root=(sudo)
    else
      die "these packages are missing and this user cannot install them. Run as root:
    apt-get update && apt-get install -y ${missing[*]}"
    fi
  fi
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update -q &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    die "apt could not install: ${missing[*]}"
  fi
  rm -f "$log"
}

# Parallel jobs: one a core, but a compiler needs about a gigabyte.
gx_jobs() {
  local cores gigabytes
  cores=$(nproc 2>/dev/null || echo 2)
  gigabytes=$(awk '/^MemTotal:/ { print int($2 / 1048576) }' /proc/meminfo 2>/dev/null)
  : "${gigabytes:=$cores}"
  ((gigabytes < 1)) && gigabytes=1
  echo $((cores < gigabytes ? cores : gigabytes))
}

# gx_build PRESET FOLDER TARGET [cmake option...]: installs, configures and builds. Progress on stderr.
gx_build() {
  local preset=$1 folder=$2 target=$3
  shift 3
  gx_install "build gpuexec" "${gx_build_packages[@]}"
  local tool
  for tool in cmake ninja protoc; do
    command -v "$tool" >/dev/null || die "$tool is not on PATH; install it and run this again"
  done
  local options=("$@")
  if command -v ccache >/dev/null; then
    options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
  fi
  say "Configuring $folder/ (preset $preset)"
  local log status=0
  log=$(mktemp)
  cmake --preset "$preset" "${options[@]}" >"$log" 2>&1 || status=$?
  if ((status)); then
    cat "$log" >&2
    rm -f "$log"
    die "configuring failed; if $folder/ comes from another checkout or generator, remove it and run this again"
  fi
  # What is left out (no toolkit, no nvcc) is for the user to know.
  sed -n 's/^-- Left out/Left out/p' "$log" >&2
  rm -f "$log"
  say "Building $folder/"
  cmake --build "$folder" --target "$target" --parallel "$(gx_jobs)" >&2 || die "the build failed"
}

# True where a program could launch a kernel.
gx_have_gpu() {
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi -L 2>/dev/null | grep -q '^GPU '
  else
    compgen -G '/dev/nvidia[0-9]*' >/dev/null
  fi
}

# gx_find DIR NAME...: the first of the relative paths that exists below DIR.
gx_find() {
  local dir=$1 path
  shift
  for path in "$@"; do
    if [[ -e $dir/$path ]]; then
      echo "$dir/$path"
      return 0
    fi
  done
  return 1
}
