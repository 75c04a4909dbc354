"""Compares launches in a gpuexec trace with what Nsight Compute prints for the same program, in a separate run.

  check_ncu.py --trace T [--at-most-launches N] [--rows FILE] [--label TEXT] [--csv FILE] -- PROGRAM ARGUMENT...

Runs PROGRAM under `ncu` for its launch__* metrics only (no counters, clocks untouched) and compares, per kernel and
launch shape: mangled name, grid, block, cluster, registers, static and dynamic shared memory. Without
--at-most-launches the number of launches of each shape must be equal too; with it, ncu saw the program's first N
launches, and each shape that it saw must be in the trace at least as often. --csv keeps ncu's own output.
"""

import argparse
import collections
import csv
import dataclasses
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import rows as rows_module
import trace_file
from check_trace import differences

_DIMENSIONS = ("x", "y", "z")
_METRICS = (
    [f"launch__grid_dim_{d}" for d in _DIMENSIONS]
    + [f"launch__block_dim_{d}" for d in _DIMENSIONS]
    + [f"launch__cluster_dim_{d}" for d in _DIMENSIONS]
    + [
        "launch__grid_size",
        "launch__block_size",
        "launch__registers_per_thread",
        "launch__shared_mem_per_block_static",
        "launch__shared_mem_per_block_dynamic",
    ]
)


def find_ncu():
    return shutil.which("ncu") or next(
        iter(sorted(glob.glob("/usr/local/cuda/bin/ncu") + glob.glob("/opt/nvidia/nsight-compute/*/ncu"), reverse=True)),
        None,
    )


def run_ncu(program, csv_path, at_most_launches, timeout_seconds):
    """Runs the program; "" or what went wrong, in words."""
    ncu = find_ncu()
    if ncu is None:
        return "no ncu found"
    command = [ncu, "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw"]
    command += ["--print-units", "base", "--print-kernel-base", "mangled", "--metrics", ",".join(_METRICS)]
    if at_most_launches:
        command += ["--launch-count", str(at_most_launches)]
    command += ["--log-file", csv_path] + program
    environment = {k: v for k, v in os.environ.items() if k != "CUDA_INJECTION64_PATH"}
    # Numbers without thousands separators.
    environment["LC_ALL"] = "C"
    try:
        done = subprocess.run(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=timeout_seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return f"ncu did not end within {timeout_seconds} s"
    if done.returncode != 0:
        return f"ncu ended with {done.returncode}: {done.stderr.decode(errors='replace')[-300:]!r}"
    return ""


def number(text):
    return int(float(text.replace(",", ""))) if text.strip() else 0


def parse_dim3(text):
    """(x, y, z) of "(256, 1, 1)"."""
    return tuple(int(part) for part in text.strip(" ()").split(","))


def parse_ncu(csv_path):
    """Counter of shapes in ncu's raw page. The metrics of a shape that ncu left out raise a ValueError."""
    with open(csv_path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise ValueError(f"ncu printed no table; its output ends: {' / '.join(lines[-3:])[-300:]!r}")
    shapes = collections.Counter()
    for row in csv.DictReader(lines[start:]):
        # The second line holds units; ==PROF== lines may follow the table.
        if not (row.get("ID") or "").isdigit():
            continue

        def dimensions(what, column):
            names = [f"launch__{what}_dim_{d}" for d in _DIMENSIONS]
            if all(row.get(name) for name in names):
                return tuple(number(row[name]) for name in names)
            return parse_dim3(row[column])

        cluster = tuple(number(row.get(f"launch__cluster_dim_{d}") or "0") for d in _DIMENSIONS)
        shapes[
            trace_file.Shape(
                name=row["Kernel Name"],
                grid=dimensions("grid", "Grid Size"),
                block=dimensions("block", "Block Size"),
                cluster=cluster if max(cluster) > 1 else (0, 0, 0),
                registers=number(row["launch__registers_per_thread"]),
                static_shared=number(row["launch__shared_mem_per_block_static"]),
                dynamic_shared=number(row["launch__shared_mem_per_block_dynamic"]),
            )
        ] += 1
    if not shapes:
        raise ValueError("ncu's table is empty")
    return shapes


def drop_columns(csv_path, columns=("Host Name", "Process ID")):
    """Rewrites ncu's table without what says where it ran."""
    with open(csv_path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return
    table = [row for row in csv.reader(lines[start:]) if len(row) > 1]
    keep = [i for i, name in enumerate(table[0]) if name not in columns]
    with open(csv_path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([row[i] for i in keep if i < len(row)] for row in table)


def without_trivial_cluster(shape):
    """A cluster of one block is none."""
    return shape if max(shape.cluster) > 1 else dataclasses.replace(shape, cluster=(0, 0, 0))


def compare(rows, label, theirs, trace, at_most_launches):
    ours = collections.Counter()
    for shape, count in trace.kernels.items():
        ours[without_trivial_cluster(shape)] += count
    fields = "name, grid, block, cluster, registers, shared memory"
    missing = [shape for shape in theirs if shape not in ours]
    text = "; ".join(describe_missing(shape, ours) for shape in missing[:3]) or "none"
    rows.add(f"{label}: ncu's shapes ({fields}) that the trace lacks, of {len(theirs)}", "none",
             text if not missing else f"{len(missing)}: {text}", not missing)
    if at_most_launches:
        fewer = {s: (count, ours[s]) for s, count in theirs.items() if s in ours and ours[s] < count}
        rows.equal(f"{label}: shapes that ncu saw more often than the trace", 0, len(fewer))
    else:
        rows.equal(f"{label}: launches by shape: differences", "none", differences(theirs, ours))


def describe_missing(shape, ours):
    """The shape, and the nearest thing that the trace has under its name."""
    same_name = [other for other in ours if other.name == shape.name]
    if not same_name:
        return f"{shape.name} (no such name in the trace)"

    def distance(other):
        return sum(getattr(other, f) != getattr(shape, f) for f in ("grid", "block", "cluster", "registers", "static_shared", "dynamic_shared"))

    return f"{shape}, nearest {min(same_name, key=distance)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", required=True)
    parser.add_argument("--at-most-launches", type=int, default=0, metavar="N")
    parser.add_argument("--timeout", type=int, default=120, metavar="SECONDS")
    parser.add_argument("--csv", metavar="FILE")
    parser.add_argument("--rows", metavar="FILE")
    parser.add_argument("--label", default="ncu")
    parser.add_argument("program", nargs="+")
    arguments = parser.parse_args()
    rows = rows_module.Rows(arguments.rows)
    csv_path = arguments.csv or os.path.join(tempfile.mkdtemp(), "ncu.csv")
    problem = run_ncu(arguments.program, csv_path, arguments.at_most_launches, arguments.timeout)
    try:
        if problem:
            raise ValueError(problem)
        drop_columns(csv_path)
        compare(rows, arguments.label, parse_ncu(csv_path), trace_file.read(arguments.trace), arguments.at_most_launches)
    except (OSError, ValueError, KeyError, trace_file.DamagedTrace) as error:
        rows.add(f"{arguments.label}: comparison with ncu", "a comparison", f"{type(error).__name__}: {error}", False)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())
