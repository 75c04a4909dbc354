#!/usr/bin/env bash
# Installs a build into a temporary prefix, moves the prefix, and uses it from there.
#   install_test.sh CMAKE BUILD_FOLDER PROTOC with-inject|without-inject with-kernels|without-kernels
set -euo pipefail
cmake=$1 build=$2 protoc=$3 inject=$4 kernels=$5

work=$(mktemp -d "${TMPDIR:-/tmp}/gpuexec-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
expect_file() { [[ -s $prefix/$1 ]] || fail "the prefix has no $1"; }

"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; fail "cmake --install"; }
prefix="$work/moved prefix"
mv "$work/first" "$prefix"

expect_file bin/gx-analyze
expect_file bin/gx-dump
expect_file bin/gx-model
expect_file bin/gx-machine
expect_file bin/gx-run
expect_file bin/gx-doctor
expect_file share/gpuexec/LICENSE
expect_file share/gpuexec/machines/NVIDIA_H200.pb
expect_file share/gpuexec/proto/gpuexec/v1/trace.proto
expect_file share/gpuexec/proto/gpuexec/v1/manifest.proto
expect_file lib/libgx_model.a
expect_file lib/cmake/gpuexec/gpuexecConfig.cmake
[[ $inject == without-inject ]] || expect_file lib/libgpuexec_inject.so
[[ $kernels == without-kernels ]] || expect_file bin/gx-kernels

"$prefix/bin/gx-analyze" --help >"$work/help" || fail "gx-analyze --help"
grep -q 'gx-analyze' "$work/help" || fail "gx-analyze --help does not name itself"

# gx-run finds the library of its own prefix, or says that there is none.
status=0
"$prefix/bin/gx-run" sh -c 'echo "$CUDA_INJECTION64_PATH"; exit 3' >"$work/run" 2>"$work/run.err" || status=$?
if [[ $inject == with-inject ]]; then
  [[ $status == 3 ]] || { cat "$work/run.err"; fail "gx-run ended with $status, its program with 3"; }
  [[ $(<"$work/run") -ef $prefix/lib/libgpuexec_inject.so ]] || fail "gx-run found another library: $(<"$work/run")"
  grep -q 'no process of the run used CUDA' "$work/run.err" || fail "gx-run does not say that nothing used CUDA"
else
  [[ $status == 125 ]] || fail "gx-run ended with $status where there is no library"
fi

# The installed format description is complete: it compiles with nothing but itself.
"$protoc" "--proto_path=$prefix/share/gpuexec/proto" "--descriptor_set_out=$work/set" gpuexec/v1/trace.proto gpuexec/v1/model_report.proto ||
  fail "the installed .proto files do not compile"

examples=$prefix/share/gpuexec/examples
"$prefix/bin/gx-model" --observation "$examples/observation_unmeasured.textproto" --fail-on-mismatch \
  "$examples/gemm_4096_bf16.textproto" >"$work/model" || fail "gx-model on the installed example"
grep -q '16.049382716049383 %' "$work/model" || fail "gx-model on the installed example does not show its last wave"

# The machine files lie where the programs look for them.
"$prefix/bin/gx-machine" show "$prefix/bin/../share/gpuexec/machines/NVIDIA_H200.pb" >"$work/machine" ||
  fail "gx-machine on the installed machine file"
grep -q '^NVIDIA H200, sm_90' "$work/machine" || fail "gx-machine does not name the device"

traces=("$prefix"/share/gpuexec/demo/*.trace.pb)
[[ -s ${traces[0]} ]] || fail "the prefix has no demo trace in share/gpuexec/demo"
trace=${traces[0]}
"$prefix/bin/gx-dump" "$trace" >"$work/dump" || fail "gx-dump on the demo trace"
grep -q 'frame' "$work/dump" || fail "gx-dump on the demo trace shows no frame"
status=0
"$prefix/bin/gx-analyze" "$trace" >"$work/report" || status=$?
((status <= 1)) || fail "gx-analyze on the demo trace ended with $status"
[[ -s $work/report ]] || fail "gx-analyze on the demo trace printed nothing"
report=${trace%.pb}.report.pb
"$protoc" "--proto_path=$prefix/share/gpuexec/proto" --decode=gpuexec.v1.Report gpuexec/v1/report.proto <"$report" >"$work/decoded" ||
  fail "protoc cannot decode the report beside the demo trace with the installed .proto files"
grep -q '^signature {' "$work/decoded" || fail "the report beside the demo trace has no signature"
"$protoc" "--proto_path=$prefix/share/gpuexec/proto" --decode=gpuexec.v1.Trace gpuexec/v1/trace.proto <"$trace" >"$work/decoded" ||
  fail "protoc cannot decode the demo trace with the installed .proto files"
[[ -s $work/decoded ]] || fail "protoc decoded nothing from the demo trace"

# Anyone's program can use the model: it needs the prefix and Abseil, nothing of the sources or of the build.
while read -r header; do
  expect_file "include/gpuexec/$header"
done < <(grep -rhoP '#include "\Kanalysis/[^"]+' "$prefix/include/gpuexec" | sort -u)
cached() { sed -n "s/^$1:[^=]*=//p" "$build/CMakeCache.txt"; }
cp -r "$(dirname "$0")/consumer" "$work/consumer"
{ "$cmake" -S "$work/consumer" -B "$work/consumer build" -G "$(cached CMAKE_GENERATOR)" "-DCMAKE_PREFIX_PATH=$prefix" \
    "-DCMAKE_CXX_COMPILER=$(cached CMAKE_CXX_COMPILER)" "-Dabsl_DIR=$(cached absl_DIR)" &&
  "$cmake" --build "$work/consumer build"; } >"$work/consumer.log" 2>&1 ||
  { cat "$work/consumer.log"; fail "a program outside the project does not build against the prefix"; }
answer=$("$work/consumer build/consumer")
[[ $answer == "4 blocks per SM, 50 %" ]] || fail "a program outside the project got '$answer' from the model"
echo "the installed prefix works"
