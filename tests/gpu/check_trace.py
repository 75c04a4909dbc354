"""Compares a gpuexec trace with what is known of the program from elsewhere. One row a check; exit code 1 if any fails.

  check_trace.py kernels --trace T --expect OUTPUT   the `expect` lines of gx-kernels' own output
  check_trace.py torch --trace T --counts JSON       kernel counts of PyTorch's profiler, from a separate run
  check_trace.py manners --bare DIR --injected DIR   stdout and exit code of a program without and with gpuexec:
                                                     files NAME.out and NAME.rc in both folders
  check_trace.py size --trace T                      bytes per kernel record
  check_trace.py versions --trace T                  prints what the trace says of versions, its counters and its
                                                     diagnostics; no checks
  check_trace.py analyzer --trace T --report JSON    kernels by name that gx-analyze counts, against this folder's reader

--label TEXT goes before each row, --rows FILE also gets the rows, tab-separated.
"""

import argparse
import collections
import dataclasses
import json
import os
import re
import sys

import rows as rows_module
import trace_file

# The project's own bar: average bytes of the whole file for each kernel record.
MAX_BYTES_PER_KERNEL = 12
MIN_OCCUPANCY_SHARE = 0.99


def loss_stats():
    """{number: name} of the counters that mean loss or fault, read from the one place that states severities."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../proto/gpuexec/v1/stats.proto")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    pattern = re.compile(r"(STAT_\w+)\s*=\s*(\d+)\s*\[\s*\(severity\)\s*=\s*(SEVERITY_\w+)")
    found = {int(number): (name, severity) for name, number, severity in pattern.findall(text)}
    if not found:
        sys.exit(f"{path}: no counters found")
    return {
        number: name for number, (name, severity) in found.items() if severity in ("SEVERITY_DATA_LOSS", "SEVERITY_ERROR")
    }


def check_nothing_lost(rows, label, trace, switches=0):
    """`switches`: windows that opened or closed while the program launched; at each, one launch may be under way and be
    seen by its call alone or by its kernel alone."""
    losses = loss_stats()
    lost = [f"{losses[number]}={value}" for number, value in sorted(trace.stats.items()) if number in losses and value]
    rows.equal(f"{label}: losses and faults", "none", " ".join(lost) or "none")
    end = "whole file, trailer" if trace.complete and trace.orderly_end else "cut file" if not trace.complete else "no trailer"
    rows.equal(f"{label}: end of the trace", "whole file, trailer", end)
    rows.equal(f"{label}: kernels without times", 0, trace.untimed)
    unmatched = (trace.launches_without_kernel, trace.kernels_without_launch)
    rows.add(f"{label}: launches without a kernel, kernels without a launch", f"at most {switches} together", unmatched,
             sum(unmatched) <= switches)
    rows.equal(f"{label}: launches whose signature differs from the record", 0, trace.launches_differing)
    rows.equal(f"{label}: graph kernels with unknown, differing node", (0, 0),
               (trace.graph_kernels_unknown, trace.graph_kernels_differing))


def check_occupancy(rows, label, trace):
    if trace.eager_signatures == 0:
        return
    share = trace.eager_signatures_with_occupancy / trace.eager_signatures
    got = f"{trace.eager_signatures_with_occupancy} of {trace.eager_signatures} ({100 * share:.1f} %)"
    rows.add(f"{label}: eager signatures with the driver's occupancy", f">= {100 * MIN_OCCUPANCY_SHARE:.0f} %", got,
             share >= MIN_OCCUPANCY_SHARE)


# ------------------------------------------------------------------------------------------------------------- kernels


def parse_expect(path):
    """(totals, kernel lines, copy lines, range lines, skipped cases): the lines as dictionaries of text."""
    totals, kernels, copies, ranges, skipped = [], [], [], [], 0
    kinds = {"expect": totals, "expect_kernel": kernels, "expect_copy": copies, "expect_range": ranges}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            words = line.split()
            if words and words[0] in kinds:
                kinds[words[0]].append(dict(word.split("=", 1) for word in words[1:] if "=" in word))
            elif words and words[0] == "SKIP":
                skipped += 1
    return totals, kernels, copies, ranges, skipped


def dim3(text):
    return tuple(int(v) for v in text.split(","))


# What an H200's launches are given at least (Nsight Compute and CUPTI's records agree; cudaFuncGetAttributes gives what
# the code uses). Code that calls functions is given more, but no demo kernel does.
LEAST_LAUNCH_REGISTERS = 16


def launched(shape):
    """A launch's shape as its record shows it."""
    return dataclasses.replace(shape, registers=max(shape.registers, LEAST_LAUNCH_REGISTERS))


def expected_shape(line):
    return trace_file.Shape(
        name=line["name"],
        grid=dim3(line["grid"]),
        block=dim3(line["block"]),
        cluster=dim3(line["cluster"]),
        registers=int(line["registers"]),
        static_shared=int(line["static_shared"]),
        dynamic_shared=int(line["dynamic_shared"]),
    )


def differences(expected, got):
    """Up to three differing keys of two counters, as text; "none" if they are equal."""
    texts = [
        f"{key}: {got.get(key, 0)} not {expected.get(key, 0)}"
        for key in sorted(set(expected) | set(got), key=str)
        if expected.get(key, 0) != got.get(key, 0)
    ]
    more = f" and {len(texts) - 3} more" if len(texts) > 3 else ""
    return "; ".join(texts[:3]) + more if texts else "none"


def command_kernels(arguments, rows):
    totals, kernel_lines, copy_lines, range_lines, skipped = parse_expect(arguments.expect)
    label = arguments.label
    if not totals:
        rows.add(f"{label}: expectations", "some", "skipped by the program" if skipped else "none", bool(skipped))
        return
    total = collections.Counter()
    for line in totals:
        for key, value in line.items():
            if key != "case":
                total[key] += int(value)
    trace = trace_file.read(arguments.trace)
    rows.equal(f"{label}: kernels", total["kernels"], trace.kernel_count)
    rows.equal(f"{label}: kernel launches", total["launches"], trace.launch_count)
    rows.equal(f"{label}: graph launches", total["graph_launches"], trace.graph_launches)
    if total["refused_launches"]:
        # The runtime may refuse a launch by itself, which the driver then never sees.
        rows.add(f"{label}: refused launches in the trace", f"1 to {total['refused_launches']}", trace.refused_launches,
                 1 <= trace.refused_launches <= total["refused_launches"])
    else:
        rows.equal(f"{label}: refused launches in the trace", 0, trace.refused_launches)

    expected = collections.Counter()
    eager = collections.Counter()
    eager_flags = {}
    for line in kernel_lines:
        shape = expected_shape(line)
        expected[launched(shape)] += int(line["kernels"])
        if line["graph"] == "0":
            eager[shape] += int(line["kernels"])
            eager_flags[shape] = (int(line["cooperative"]), int(line["programmatic"]))
    rows.equal(f"{label}: records by name, grid, block, cluster, registers, shared memory: differences", "none",
               differences(expected, trace.kernels))
    rows.equal(f"{label}: launches by the same: differences", "none", differences(eager, trace.launches))
    rows.equal(f"{label}: cooperative and programmatic flags: differences", "none",
               differences(eager_flags, trace.launch_flags))

    copies = collections.Counter()
    for line in copy_lines:
        copies[(line["kind"], int(line["bytes"]))] += int(line["copies"])
    rows.equal(f"{label}: copies by kind and bytes: differences", "none", differences(copies, trace.copies))
    rows.equal(f"{label}: fills", total["fills"], trace.fills)
    rows.equal(f"{label}: NVTX ranges", total["nvtx_ranges"], trace.nvtx_ranges)
    if range_lines:
        ranges = {(line["domain"], line["name"]): int(line["kernels"]) for line in range_lines}
        rows.equal(f"{label}: launches by innermost range: differences", "none",
                   differences(ranges, trace.kernels_by_range))
    check_nothing_lost(rows, label, trace)
    check_occupancy(rows, label, trace)


# --------------------------------------------------------------------------------------------------------------- torch


def command_torch(arguments, rows):
    with open(arguments.counts, encoding="utf-8") as file:
        counts = json.load(file)
    trace = trace_file.read(arguments.trace)
    label = arguments.label
    rows.equal(f"{label}: kernels, PyTorch's profiler against the trace", counts["kernels"], trace.kernel_count)
    theirs = counts["by_name"]
    # PyTorch demangles names, unless they are very long.
    ours = collections.Counter()
    shapes = collections.Counter()
    for shape, count in trace.kernels.items():
        name = shape.name if shape.name in theirs else trace_file.demangle(shape.name)
        ours[name] += count
        shapes[(name, ",".join(map(str, shape.grid)), ",".join(map(str, shape.block)), shape.registers)] += count
    rows.equal(f"{label}: kernels by name ({len(theirs)} names): differences", "none", differences(theirs, ours))
    their_shapes = {(row["name"], row["grid"], row["block"], row["registers"]): row["kernels"] for row in counts["by_shape"]}
    rows.equal(f"{label}: kernels by name, grid, block, registers ({len(their_shapes)}): differences", "none",
               differences(their_shapes, shapes))
    rows.equal(f"{label}: launch calls whose parameters are unknown", 0, trace.unknown_launches)
    check_nothing_lost(rows, label, trace)
    check_occupancy(rows, label, trace)


# --------------------------------------------------------------------------------------------------------- the others


def read_bytes(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        return f"{error.strerror}".encode()


def command_manners(arguments, rows):
    names = sorted(name[:-4] for name in os.listdir(arguments.bare) if name.endswith(".out"))
    same_output, same_code, different = 0, 0, []
    for name in names:
        bare, injected = (read_bytes(os.path.join(folder, name + ".out")) for folder in (arguments.bare, arguments.injected))
        bare_code, code = (read_bytes(os.path.join(folder, name + ".rc")) for folder in (arguments.bare, arguments.injected))
        same_output += bare == injected
        same_code += bare_code == code
        if bare != injected or bare_code != code or bare_code.strip() != b"0":
            different.append(f"{name} (exit {bare_code.decode().strip()}, {code.decode().strip()})")
    text = " ".join(different)
    rows.add(f"{arguments.label}: stdout byte-identical", f"{len(names)} of {len(names)}",
             f"{same_output} of {len(names)} {text}".strip(), bool(names) and same_output == len(names))
    rows.add(f"{arguments.label}: exit code equal, and 0", f"{len(names)} of {len(names)}",
             f"{same_code} of {len(names)} {text}".strip(), bool(names) and same_code == len(names) and not different)


def command_size(arguments, rows):
    trace = trace_file.read(arguments.trace)
    kernels = trace.kernel_count
    if kernels == 0:
        rows.add(f"{arguments.label}: bytes per kernel record", f"<= {MAX_BYTES_PER_KERNEL}", "no kernels", False)
        return
    per_kernel = trace.file_bytes / kernels
    rows.add(f"{arguments.label}: bytes per kernel record", f"<= {MAX_BYTES_PER_KERNEL}",
             f"{per_kernel:.2f} ({trace.file_bytes} bytes, {kernels} kernels)", per_kernel <= MAX_BYTES_PER_KERNEL)


def command_versions(arguments, rows):
    trace = trace_file.read(arguments.trace)
    for name, value in trace.versions.items():
        print(f"{name}: {value}")
    print("counters:", " ".join(f"{number}={value}" for number, value in sorted(trace.stats.items())))
    for text in trace.diagnostics:
        print("diagnostic:", text)


def command_analyzer(arguments, rows):
    trace = trace_file.read(arguments.trace)
    with open(arguments.report, encoding="utf-8") as file:
        report = json.load(file)
    ours = collections.Counter()
    for shape, count in trace.kernels.items():
        ours[shape.name] += count
    theirs = collections.Counter()
    for row in report_rows(report):
        theirs[row[0]] += row[1]
    if not theirs.keys() <= ours.keys():
        # The report may show demangled names.
        demangled = collections.Counter()
        for name, count in ours.items():
            demangled[trace_file.demangle(name)] += count
        ours = demangled
    rows.equal(f"{arguments.label}: gx-analyze's kernels by name ({len(ours)} names): differences", "none",
               differences(ours, theirs))


def report_rows(report):
    """(name, kernels) of each row of gx-analyze's JSON report by name. What is empty or 0 is left out there."""
    for row in report.get("group", []):
        yield row.get("name", ""), int(row["timing"].get("call_count", 0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--label", default="trace")
    parser.add_argument("--rows", metavar="FILE")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, function, options in (
        ("kernels", command_kernels, ("--trace", "--expect")),
        ("torch", command_torch, ("--trace", "--counts")),
        ("manners", command_manners, ("--bare", "--injected")),
        ("size", command_size, ("--trace",)),
        ("versions", command_versions, ("--trace",)),
        ("analyzer", command_analyzer, ("--trace", "--report")),
    ):
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        for option in options:
            command.add_argument(option, required=True)
    arguments = parser.parse_args()
    rows = rows_module.Rows(arguments.rows)
    try:
        arguments.function(arguments, rows)
    except (OSError, ValueError, KeyError, trace_file.DamagedTrace) as error:
        rows.add(f"{arguments.label}: {arguments.command}", "a comparison", f"{type(error).__name__}: {error}", False)
    return 0 if arguments.command == "versions" else rows.finish()


if __name__ == "__main__":
    sys.exit(main())
