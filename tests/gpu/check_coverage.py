"""Coverage of a GPU-bound program by hardware counters at the default budget, and what its steps cost between them.

  check_coverage.py --trace T --steps FILE --off FILE FILE

T and --steps: of the run with counters. --off: step times of runs before and after it with GPUEXEC_COUNTERS=off. Compared are
the steps that lie wholly in a timing window and next to no switch. --label TEXT goes before each row, --rows FILE also gets
the rows, --table FILE gets every signature.
"""

import argparse
import bisect
import statistics
import sys

import check_counters
import counter_packets
import coverage
import gpu_program
import rows as rows_module
import trace_file

# The project's own bars.
LEAST_SHARE = 0.95
STEP_TOLERANCE = 0.02


def milliseconds(steps):
    return [(end - begin) / 1e6 for begin, end in steps]


def in_timing_windows(steps, counters):
    """Steps wholly in a timing window, but for the first and the last one of each."""
    windows = sorted(counters.windows_of(counter_packets.WINDOW_TIMING), key=lambda window: window.begin_ns)
    begins = [window.begin_ns for window in windows]
    found = {}
    for step in steps:
        index = bisect.bisect_right(begins, step[0]) - 1
        if index >= 0 and (windows[index].end_ns is None or step[1] <= windows[index].end_ns):
            found.setdefault(index, []).append(step)
    return [step for inside in found.values() for step in inside[1:-1]]


def check_steps(rows, label, steps, off_runs, counters):
    clean = milliseconds(in_timing_windows(steps, counters))
    off = [milliseconds(run) for run in off_runs]
    if not clean or not all(off):
        rows.add(f"{label}: step time in timing windows against GPUEXEC_COUNTERS=off", "within 2 %",
                 f"{len(clean)} steps and {[len(run) for run in off]}", False)
        return
    # The first steps of a run are slower.
    medians = [statistics.median(run[len(run) // 10 :]) for run in off]
    reference = statistics.mean(medians)
    difference = statistics.median(clean) / reference - 1
    rows.add(f"{label}: step time in timing windows against GPUEXEC_COUNTERS=off", "within 2 %",
             f"{100 * difference:+.2f} % ({statistics.median(clean):.3f} ms of {len(clean)} steps; off "
             f"{', '.join(f'{m:.3f}' for m in medians)} ms)", abs(difference) <= STEP_TOLERANCE)
    everything = milliseconds(steps)
    rows.add(f"{label}: mean step, over the whole run, against GPUEXEC_COUNTERS=off", "-",
             f"{100 * (statistics.mean(everything) / statistics.mean([statistics.mean(run) for run in off]) - 1):+.2f} %", True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", required=True)
    parser.add_argument("--steps", required=True)
    parser.add_argument("--off", nargs="+", required=True)
    parser.add_argument("--label", default="coverage")
    parser.add_argument("--rows", metavar="FILE")
    parser.add_argument("--table", metavar="FILE")
    parser.add_argument("--describe", metavar="FILE", help="what check_counters.py describe would print")
    arguments = parser.parse_args()
    rows, label = rows_module.Rows(arguments.rows), arguments.label
    try:
        trace = trace_file.read(arguments.trace)
        check_counters.describe_to(arguments.describe, trace)
        counters = trace.counters
        share, lacking = coverage.complete_share(trace)
        groups = [group.name for group in counters.planned_groups() if not group.spare]
        rows.add(f"{label}: GPU time of signatures with 3 samples of each of {len(groups)} core groups", ">= 95 %",
                 f"{100 * share:.2f} %, {len(trace.durations_ns) - len(lacking)} of {len(trace.durations_ns)} signatures",
                 share >= LEAST_SHARE)
        table = []
        for part, signature, missing in lacking:
            shape = trace.signature_shapes.get(signature)
            name = trace_file.demangle(shape.name) if shape else f"signature {signature}"
            table.append((f"{100 * part:.3f} %", name, " ".join(f"{group}:{count}" for group, count in missing)))
        check_counters.write_table(arguments.table, ("share of GPU time", "kernel", "groups that lack samples"), table)
        for part, name, missing in table[:5]:
            rows.add(f"{label}: without every group: {part}", "-", f"{name[:60]}: {missing[:80]}", True)
        steps = gpu_program.read_step_times(arguments.steps)
        check_steps(rows, label, steps, [gpu_program.read_step_times(path) for path in arguments.off], counters)
        wall_s = (steps[-1][1] - steps[0][0]) / 1e9
        rows.add(f"{label}: time inside calls, of the run's wall time", "-",
                 f"{counters.cost_ns() / 1e9:.3f} s of {wall_s:.1f} s ({counters.cost_ns() / 1e7 / wall_s:.2f} %)", True)
        rows.add(f"{label}: samples, sessions, windows", "-",
                 f"{len(counters.samples)}, {len(counters.sessions)}, {len(counters.windows)}", True)
        check_counters.check_losses(rows, label, trace)
    except (OSError, ValueError, KeyError, IndexError, trace_file.DamagedTrace) as error:
        rows.add(f"{label}: coverage", "a comparison", f"{type(error).__name__}: {error}", False)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())
