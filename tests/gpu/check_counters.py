"""Compares hardware counters in a trace of gx-counter-kernels with what is known on paper, with ncu, and with another run.

  check_counters.py known --trace T --expect OUTPUT --binary FILE    what the program says of itself (OUTPUT is its standard
                                     output), and instructions as counted in the machine code of FILE: every sample
  check_counters.py ncu --trace T --expect OUTPUT --binary FILE      the same kernels under ncu, metrics of the group light+;
                                     medians of samples against medians of ncu's launches
  check_counters.py same --trace T --other T2    instructions of each kernel, in two runs: equal
  check_counters.py sampled --trace T [--graphs]     that anything was sampled at all (a graph, too)
  check_counters.py describe --trace T           prints groups, sessions, denials and losses; no checks

--label TEXT goes before each row, --rows FILE also gets the rows, --table FILE gets every point that was compared,
--describe FILE what the command of that name would print.
"""

import argparse
import collections
import csv
import math
import os
import statistics
import subprocess
import sys

import check_ncu
import check_trace
import counter_packets
import machine_code
import rows as rows_module
import trace_file

# The project's own bars.
KNOWN_TOLERANCE = 0.001
NCU_TOLERANCE = 0.03
NCU_SHARE_OUTSIDE = 0.02
# A point of fewer units than this on both sides is noise of the machine's own.
NCU_LEAST = 10_000
# ncu: launches of each kernel left alone first, then compared.
NCU_SKIP, NCU_COUNT = 3, 4
# A difference that comes with a range, whatever it holds, is about the same number of units in every kernel: all of one sign,
# and this one at most so many times the largest of the others.
LIKE_THE_OTHERS = 1.5
MOST_ROWS = 12

INSTRUCTIONS = ("smsp__inst_executed.sum", "smsp__sass_inst_executed.sum")
HALF_FMA = "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum"
# What may be compared of a kernel: the words of its `compare` -> metrics.
COMPARABLE = {
    "issue": ("smsp__inst_executed.sum", "smsp__issue_active.sum", "sm__warps_active.sum",
              "sm__warps_active.avg.pct_of_peak_sustained_active"),
    "l1": ("l1tex__t_sectors.sum", "l1tex__t_sectors_lookup_hit.sum", "l1tex__t_bytes.sum"),
    "l2": ("lts__t_sectors.sum", "lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum", "lts__t_sectors_srcunit_tex.sum"),
    "dram_read": ("dram__bytes_read.sum",),
    "dram_write": ("dram__bytes_write.sum",),
}
# Of a metric that a chip does not count in one pass: what is counted in its place (inject/counter_sets.cc).
SUBSTITUTES = ("_realtime.sum", "_sparsity_off.sum")


def kind_of(metric):
    if "ops_path_tensor" in metric:
        return "tensor operations by type"
    if metric in INSTRUCTIONS:
        return "warp instructions"
    if "data_bytes" in metric:
        return "bytes"
    if "_pred_on" in metric:
        return "floating-point and integer operations by type"
    return "memory instructions, sectors, blocks"


# -------------------------------------------------------------------------------------------------------- expectations


class Kernel:
    def __init__(self, words):
        self.name = words["name"]
        self.grid, self.block, self.trips = (int(words[key]) for key in ("grid", "block", "trips"))
        self.compare = words["compare"].split(",")
        # (metrics whose sum is known, least, most)
        self.expected = []

    @property
    def warps(self):
        return self.grid * self.block // 32


def parse_expectations(path):
    """{name: Kernel} of gx-counter-kernels' standard output."""
    kernels = {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            kind, *rest = line.split() or [""]
            words = dict(word.split("=", 1) for word in rest if "=" in word)
            if kind == "kernel":
                kernels[words["name"]] = Kernel(words)
            elif kind == "expect":
                value = int(words["value"])
                kernels[words["kernel"]].expected.append((words["metric"].split("+"), value, int(words.get("upto", value))))
    if not kernels:
        raise ValueError(f"{path}: the program says of no kernel what it does")
    return kernels


def codes_of(binary, capability):
    """{kernel: machine code} for devices of that compute capability."""
    for architecture, cubin in machine_code.cubins(binary):
        if architecture == capability:
            found = machine_code.functions(cubin)
            if found:
                return found
    return {}


def add_machine_code(kernels, codes):
    """Instructions are expected as the machine code has them. A list of kernels where they could not be counted."""
    not_counted = []
    for kernel in kernels.values():
        code = codes.get(kernel.name)
        if code is None:
            not_counted.append(f"{kernel.name}: no code")
            continue
        try:
            instructions = kernel.warps * machine_code.warp_instructions(code, kernel.trips)
            kernel.expected += [([metric], instructions, instructions) for metric in INSTRUCTIONS]
        except machine_code.NotCountable as error:
            not_counted.append(f"{kernel.name}: {error}")
        constants = machine_code.count(code, machine_code.HALF_FMA_CONSTANT)
        if constants:
            # Constants that the compiler writes with HFMA2 are counted as what they are.
            kernel.expected = [
                (metrics, least, most + constants * kernel.warps * 32 if metrics == [HALF_FMA] else most)
                for metrics, least, most in kernel.expected
            ]
    return not_counted


# -------------------------------------------------------------------------------------------------------- samples


def by_kernel(trace, only_clean=True):
    """{kernel name: [samples of its launches]}."""
    found = collections.defaultdict(list)
    for sample in trace.counters.samples:
        shape = trace.signature_shapes.get(sample.signature_iid)
        if shape is not None and (sample.clean if only_clean else sample.valid):
            found[shape.name].append(sample)
    return found


def spelled(metric, known):
    """The metric as the trace's groups have it; None if none of them does."""
    if metric in known:
        return metric
    stem = metric.removesuffix(".sum")
    return next((stem + suffix for suffix in SUBSTITUTES if stem + suffix in known), None)


def values_of(trace, samples, metrics):
    """Of each sample that holds all of these metrics: their sum."""
    known = {metric for group in trace.counters.groups.values() for metric in group.metrics}
    names = [spelled(metric, known) for metric in metrics]
    if None in names:
        return []
    values = []
    for sample in samples:
        parts = [trace.counters.value(sample, name) for name in names]
        if None not in parts:
            values.append(sum(parts))
    return values


def error_of(value, least, most):
    """How far outside, as a share of what was expected. NaN is as far as can be."""
    if least <= value <= most:
        return 0.0
    nearest = least if value < least else most
    return math.inf if math.isnan(value) or nearest == 0 else abs(value - nearest) / abs(nearest)


def number(value):
    return f"{value:,.0f}" if abs(value) >= 100 and float(value).is_integer() else f"{value:,.6g}"


def write_table(path, head, points):
    if not path:
        return
    with open(path, "w", encoding="utf-8") as file:
        for point in [head] + points:
            print(*point, sep="\t", file=file)


# -------------------------------------------------------------------------------------------------------- the checks


def command_known(arguments, rows):
    trace = trace_file.read(arguments.trace)
    describe_to(arguments.describe, trace)
    kernels = parse_expectations(arguments.expect)
    not_counted = add_machine_code(kernels, codes_of(arguments.binary, arguments.capability))
    samples = by_kernel(trace)
    label = arguments.label
    points, worst, totals, bad = [], collections.defaultdict(float), collections.Counter(), []
    for kernel in kernels.values():
        for metrics, least, most in kernel.expected:
            name, kind = "+".join(metrics), kind_of(metrics[0])
            values = values_of(trace, samples[kernel.name], metrics)
            totals[kind] += 1
            error = max((error_of(value, least, most) for value in values), default=math.inf)
            worst[kind] = max(worst[kind], error)
            expected = number(least) if least == most else f"{number(least)} to {number(most)}"
            got = f"{number(min(values))} to {number(max(values))}" if values else "not sampled"
            points.append((kernel.name, name, expected, len(values), got, f"{100 * error:.4f} %"))
            if error > KNOWN_TOLERANCE:
                bad.append((f"{label}: {kernel.name} {name}", expected, f"{got} in {len(values)} samples", False))
    write_table(arguments.table, ("kernel", "metric", "expected", "samples", "least to most", "error"), points)
    for kind, total in sorted(totals.items()):
        outside = sum(kind_of(p[1].split("+")[0]) == kind and float(p[5].split()[0]) > 100 * KNOWN_TOLERANCE for p in points)
        rows.add(f"{label}: known answers, {kind}: points beyond 0.1 %, largest error", f"0 of {total}",
                 f"{outside} of {total}, {100 * worst[kind]:.4f} %", outside == 0)
    counts = [len(samples[name]) for name in kernels]
    rows.add(f"{label}: kernels with clean samples, samples of each", f"{len(kernels)} of {len(kernels)}",
             f"{sum(count > 0 for count in counts)} of {len(kernels)}, {min(counts)} to {max(counts)}", min(counts) > 0)
    rows.equal(f"{label}: kernels whose instructions cannot be counted in the code", "none", "; ".join(not_counted[:3]) or "none")
    if len(bad) > MOST_ROWS:
        bad = bad[:MOST_ROWS] + [(f"{label}: further points beyond 0.1 %", 0, len(bad) - MOST_ROWS, False)]
    for row in bad:
        rows.add(*row)
    check_losses(rows, label, trace)


def check_losses(rows, label, trace, expected=()):
    """`expected`: counters that the program brings about."""
    losses = check_trace.loss_stats()
    lost = [f"{losses[number]}={value}" for number, value in sorted(trace.stats.items())
            if number in losses and value and losses[number] not in expected]
    rows.equal(f"{label}: losses and faults", "none", " ".join(lost) or "none")


def light_metrics(trace):
    """Of the group that the comparison with ncu is about, without what is a constant of the device."""
    for group in trace.counters.planned_groups() or trace.counters.groups.values():
        if group.name in ("light+", "light"):
            return [metric for metric in group.metrics if not metric.endswith(".peak_sustained")]
    raise ValueError("the trace has no group light+ or light")


def run_ncu(arguments, metrics):
    """None, or what went wrong, in words."""
    ncu = check_ncu.find_ncu()
    if ncu is None:
        return "no ncu found"
    command = [ncu, "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw", "--print-units", "base",
               "--print-kernel-base", "mangled", "--kernel-name", "regex:^gx_", "--filter-mode", "per-launch-config",
               "--launch-skip", str(NCU_SKIP), "--launch-count", str(NCU_COUNT), "--metrics", ",".join(metrics),
               "--log-file", arguments.csv, arguments.binary, "--rounds", str(NCU_SKIP + NCU_COUNT + 1)]
    environment = {k: v for k, v in os.environ.items() if k != "CUDA_INJECTION64_PATH" and not k.startswith("GPUEXEC_")}
    environment["LC_ALL"] = "C"
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=arguments.timeout, check=False)
    except subprocess.TimeoutExpired:
        return f"ncu did not end within {arguments.timeout} s"
    return f"ncu ended with {done.returncode}: {done.stderr.decode(errors='replace')[-300:]!r}" if done.returncode else None


def parse_ncu(path):
    """{kernel: {metric: [values]}} of ncu's raw page."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise ValueError(f"ncu printed no table; its output ends: {' / '.join(lines[-3:])[-300:]!r}")
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in csv.DictReader(lines[start:]):
        if not (row.get("ID") or "").isdigit():
            continue
        for metric, text in row.items():
            try:
                found[row["Kernel Name"]][metric].append(float((text or "").replace(",", "")))
            except (ValueError, AttributeError):
                continue
    return found


def explanation(ours, theirs, others):
    """Why medians differ, as far as the figures show it; None: they do not. `others`: differences of the same metric, in units,
    of kernels whose medians agree."""
    gap = max(min(ours) - max(theirs), min(theirs) - max(ours))
    spread = max(max(ours) - min(ours), max(theirs) - min(theirs))
    reasons = []
    if gap <= 0:
        reasons.append("both spread, and overlap")
    elif gap < spread:
        reasons.append(f"both spread: {number(gap)} apart, one of them {number(spread)} wide")
    difference = statistics.median(ours) - statistics.median(theirs)
    if len(others) >= 2 and all(other * difference > 0 for other in others) and abs(difference) <= LIKE_THE_OTHERS * max(map(abs, others)):
        reasons.append(f"of the range, not of the kernel: {difference:+,.0f} here, {min(others):+,.0f} to {max(others):+,.0f} in "
                       f"{len(others)} other kernels")
    return "; ".join(reasons) or None


def command_ncu(arguments, rows):
    trace = trace_file.read(arguments.trace)
    kernels = parse_expectations(arguments.expect)
    problem = None if arguments.have_csv else run_ncu(arguments, light_metrics(trace))
    if problem:
        raise ValueError(problem)
    check_ncu.drop_columns(arguments.csv)
    theirs, samples, label = parse_ncu(arguments.csv), by_kernel(trace), arguments.label
    points, outside, compared, missing = [], [], 0, []
    agreeing = collections.defaultdict(list)
    for kernel in kernels.values():
        for metric in (metric for word in kernel.compare for metric in COMPARABLE[word]):
            ours = values_of(trace, samples[kernel.name], [metric])
            their = theirs.get(kernel.name, {}).get(metric, [])
            if not ours or not their:
                missing.append(f"{kernel.name} {metric} ({len(ours)} samples, {len(their)} of ncu)")
                continue
            a, b = statistics.median(ours), statistics.median(their)
            small = max(a, b) < NCU_LEAST and "pct" not in metric
            difference = 0.0 if a == b else math.inf if b == 0 else a / b - 1
            verdict = "small" if small else "ok" if abs(difference) <= NCU_TOLERANCE else "OUTSIDE"
            points.append((kernel.name, metric, number(a), f"{number(min(ours))} to {number(max(ours))}", len(ours), number(b),
                           f"{number(min(their))} to {number(max(their))}", len(their), f"{100 * difference:+.3f} %", verdict))
            compared += not small
            if verdict == "OUTSIDE":
                outside.append((kernel.name, metric, ours, their, points[-1]))
            elif "pct" not in metric:
                agreeing[metric].append(a - b)
    write_table(arguments.table, ("kernel", "metric", "ours", "least to most", "samples", "ncu", "least to most", "launches",
                                  "difference", "verdict"), points)
    share = len(outside) / compared if compared else 1.0
    rows.add(f"{label}: points of DRAM, L2, L1, active warps, issue outside 3 % of ncu", "at most 2 %",
             f"{len(outside)} of {compared} ({100 * share:.1f} %)", compared > 0 and share <= NCU_SHARE_OUTSIDE)
    for word, metrics in COMPARABLE.items():
        differences = [abs(float(p[8].split()[0])) for p in points if p[1] in metrics and p[9] != "small"]
        if differences:
            rows.add(f"{label}: {word}: median and largest difference from ncu, {len(differences)} points", "-",
                     f"{statistics.median(differences):.3f} %, {max(differences):.3f} %", True)
    rows.equal(f"{label}: points that one side lacks", "none",
               f"{len(missing)}: {'; '.join(missing[:3])}" if missing else "none")
    # The bar above says how many there may be; each is to be explained.
    for name, metric, ours, their, point in outside[:MOST_ROWS]:
        reason = explanation(ours, their, agreeing[metric])
        rows.add(f"{label}: {name} {metric}, outside 3 %", f"ncu {point[5]} ({point[6]}), explained",
                 f"{point[2]} ({point[3]}), {point[8]}: {reason or 'not explained by the figures'}", reason is not None)


def command_same(arguments, rows):
    label = arguments.label
    first, second = (trace_file.read(path) for path in (arguments.trace, arguments.other))
    describe_to(arguments.describe, second)
    samples = [by_kernel(trace) for trace in (first, second)]
    names = sorted(name for name in set(samples[0]) | set(samples[1]) if name.startswith("gx_"))
    for metric in INSTRUCTIONS:
        points, different = 0, []
        for name in names:
            values = [set(values_of(trace, found[name], [metric])) for trace, found in zip((first, second), samples)]
            points += 1
            if len(values[0]) != 1 or values[0] != values[1]:
                different.append(f"{name}: {sorted(values[0])[:3]} and {sorted(values[1])[:3]}")
        rows.add(f"{label}: {metric}: kernels that differ, of {points}", "none",
                 f"{len(different)}: {'; '.join(different[:3])}" if different else "none", points > 0 and not different)
    kinds = [sorted({w.kind for w in trace.counters.windows.values()}) for trace in (first, second)]
    kernels = [trace.kernel_count for trace in (first, second)]
    rows.add(f"{label}: kernels timed in the one run, in the other", "> 0, 0", f"{kernels[0]}, {kernels[1]} (windows {kinds})",
             kernels[0] > 0 and kernels[1] == 0)


def command_sampled(arguments, rows):
    trace = trace_file.read(arguments.trace)
    describe_to(arguments.describe, trace)
    valid = [sample for sample in trace.counters.samples if sample.valid]
    groups = {sample.group_iid for sample in valid}
    rows.add(f"{arguments.label}: samples, groups, signatures", "> 0",
             f"{len(valid)}, {len(groups)}, {len({s.signature_iid for s in valid if s.signature_iid})}", bool(valid))
    if arguments.graphs:
        graphs = [sample for sample in valid if sample.graph_exec_id]
        rows.add(f"{arguments.label}: samples of whole graph launches", "> 0", len(graphs), bool(graphs))
    check_losses(rows, arguments.label, trace)


def command_describe(arguments, rows):
    describe(trace_file.read(arguments.trace), sys.stdout)


def describe(trace, out):
    counters = trace.counters

    def say(*words):
        print(*words, file=out)

    say("access", counters.access)
    for group in counters.groups.values():
        samples = [sample for sample in counters.samples if sample.group_iid == group.iid]
        signatures = len({sample.signature_iid for sample in samples if sample.signature_iid})
        void = sum(not sample.valid for sample in samples)
        say(f"group {group.name}: {len(group.metrics)} metrics, {len(samples)} samples ({void} void), {signatures} signatures"
              f"{', spare' if group.spare else ''}")
    for session in counters.sessions.values():
        group = counters.groups.get(session.group_iid)
        seconds = (session.end_ns - session.begin_ns) / 1e9 if session.end_ns else -1
        say(f"session {session.session_id} {group.name if group else session.group_iid}: {session.outcome}, "
              f"{session.ranges} ranges in {seconds:.3f} s, calls: program {session.program_ns / 1e6:.1f} ms (push "
              f"{session.push_ns / 1e6:.1f}, pop {session.pop_ns / 1e6:.1f}, idle {session.idle_wait_ns / 1e6:.1f}, completion "
              f"{session.completion_wait_ns / 1e6:.1f}), switching {session.switch_ns / 1e6:.1f} ms (enable "
              f"{session.enable_ns / 1e6:.1f}, start {session.start_ns / 1e6:.1f}, stop {session.stop_ns / 1e6:.1f}, decode "
              f"{session.decode_ns / 1e6:.1f}, disable {session.disable_ns / 1e6:.1f})")
    for window in counters.windows.values():
        length = (window.end_ns - window.begin_ns) / 1e9 if window.end_ns else -1
        kind = {counter_packets.WINDOW_TIMING: "timing", counter_packets.WINDOW_COUNTERS: "counters"}.get(window.kind, "off")
        say(f"window {window.window_id} {kind}: {length:.3f} s, switch {window.switch_cost_ns / 1e6:.3f} ms")
    for denial in counters.denials:
        name = trace.function_names.get(denial.function_iid, denial.place)
        say(f"denied {name}: {denial.reason} {denial.detail}")
    for name, text in counters.dropped:
        say(f"dropped {name}: {text}")
    say("stats", " ".join(f"{number}={value}" for number, value in sorted(trace.stats.items())))
    for text in trace.diagnostics:
        say("diagnostic:", text)


def describe_to(path, trace):
    if path:
        with open(path, "w", encoding="utf-8") as file:
            describe(trace, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--label", default="counters")
    parser.add_argument("--rows", metavar="FILE")
    parser.add_argument("--table", metavar="FILE")
    parser.add_argument("--describe", metavar="FILE", help="also what the command describe would print, of the last trace")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, function, options in (
        ("known", command_known, ("--trace", "--expect", "--binary")),
        ("ncu", command_ncu, ("--trace", "--expect", "--binary", "--csv")),
        ("same", command_same, ("--trace", "--other")),
        ("sampled", command_sampled, ("--trace",)),
        ("describe", command_describe, ("--trace",)),
    ):
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        for option in options:
            command.add_argument(option, required=True)
        if name == "known":
            command.add_argument("--capability", type=int, default=90, help="10 * major + minor (default %(default)s)")
        elif name == "ncu":
            command.add_argument("--timeout", type=int, default=90, metavar="SECONDS")
            command.add_argument("--have-csv", action="store_true", help="ncu has run: its table is in --csv")
        elif name == "sampled":
            command.add_argument("--graphs", action="store_true")
    arguments = parser.parse_args()
    rows = rows_module.Rows(arguments.rows)
    try:
        arguments.function(arguments, rows)
    except (OSError, ValueError, KeyError, trace_file.DamagedTrace) as error:
        rows.add(f"{arguments.label}: {arguments.command}", "a comparison", f"{type(error).__name__}: {error}", False)
    return 0 if arguments.command == "describe" else rows.finish()


if __name__ == "__main__":
    sys.exit(main())
