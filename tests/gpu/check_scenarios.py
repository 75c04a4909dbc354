"""Compares the traces and the manners of scenarios.py with what each scenario promises. Exit code 1 if any check fails.

  check_scenarios.py NAME --bare DIR --injected DIR --traces DIR [--exit-code N]

NAME is the name of the run: NAME.out, NAME.err and NAME.rc in both folders, and NAME*.pb among the traces. What is
checked is chosen by NAME (CHECKS below). --label TEXT goes before each row, --rows FILE also gets the rows.
"""

import argparse
import bisect
import glob
import os
import sys

import check_trace
import rows as rows_module
import trace_file

NS_PER_S = 1_000_000_000
# How far from its time a window may open or close.
WINDOW_TOLERANCE_NS = NS_PER_S // 10
# What the settings of the run ask for; tools/device_test sets the same.
START_AFTER_S, DURATION_S = 3, 2
MAX_TRACE_BYTES = 1.1 * 1024 * 1024
# No more than what the program did in the last second may be missing after a kill.
LOST_SPAN_NS = NS_PER_S


class Run:
    """What one run left behind."""

    def __init__(self, arguments):
        self.label = arguments.label
        self._bare, self._injected, self._name = arguments.bare, arguments.injected, arguments.name
        found = glob.glob(os.path.join(glob.escape(arguments.traces), arguments.name + "*.pb"))
        # NAME.pb and NAME.PID.pb, but not NAME_MORE.pb.
        self.trace_paths = sorted(path for path in found if os.path.basename(path).split(".")[0] == arguments.name)

    def path(self, suffix, injected=True):
        return os.path.join(self._injected if injected else self._bare, self._name + suffix)

    def text(self, suffix, injected=True):
        return check_trace.read_bytes(self.path(suffix, injected))

    def _lines(self, suffix, injected=True):
        return self.text(suffix, injected).decode("utf-8", "replace").splitlines()

    def said(self, key, injected=True):
        """The numbers N of the lines `KEY N` on stdout."""
        return [int(line[len(key) + 1 :]) for line in self._lines(".out", injected) if line.startswith(key + " ")]

    def marks(self):
        """(time, launches so far) of each mark on stderr."""
        return [(int(line.split()[1]), int(line.split()[2])) for line in self._lines(".err") if line.startswith("mark ")]

    def trace(self):
        """The only trace, read."""
        if len(self.trace_paths) != 1:
            raise ValueError(f"{len(self.trace_paths)} trace files, expected one")
        return trace_file.read(self.trace_paths[0])


def check_counts(rows, run, trace, launches):
    rows.equal(f"{run.label}: launches and kernels recorded, of {launches}", (launches, launches),
               (trace.launch_count, trace.kernel_count))


def launches_not_recorded_by_request(trace):
    # STAT_LAUNCHES_OUTSIDE_REGION
    return trace.stats.get(9, 0)


def check_readable_without_end(rows, run, trace):
    """A process that died left whole frames (the last one may be cut), no trailer, and counters that show no loss."""
    rows.equal(f"{run.label}: end of the trace", "no trailer", "trailer" if trace.orderly_end else "no trailer")
    losses = check_trace.loss_stats()
    lost = [f"{losses[number]}={value}" for number, value in sorted(trace.stats.items()) if number in losses and value]
    rows.equal(f"{run.label}: losses and faults until then", "none", " ".join(lost) or "none")


def region(rows, run):
    trace = run.trace()
    inside, made = run.said("in_region")[0], run.said("launches")[0]
    check_counts(rows, run, trace, inside)
    rows.equal(f"{run.label}: launches counted, not recorded, by request", made - inside,
               launches_not_recorded_by_request(trace))
    check_trace.check_nothing_lost(rows, run.label, trace)


def between_marks(trace, marks, begin_ns, end_ns):
    """(launches that the program made between its first and last mark in this span, launches recorded there)."""
    inside = [mark for mark in marks if begin_ns <= mark[0] <= end_ns]
    if len(inside) < 2:
        raise ValueError(f"{len(inside)} marks of the program in the span, expected several")
    (begin_ns, count_before), (end_ns, count_after) = inside[0], inside[-1]
    recorded = bisect.bisect(trace.launch_times, end_ns) - bisect.bisect(trace.launch_times, begin_ns)
    return count_after - count_before, recorded


def span(rows, run):
    trace, marks = run.trace(), run.marks()
    begin_ns = trace.start_monotonic_ns + START_AFTER_S * NS_PER_S
    end_ns = begin_ns + DURATION_S * NS_PER_S
    made_ns = (marks[0][0], marks[-1][0])
    rows.add(f"{run.label}: the program launches from before the span until after it", "yes",
             f"{(made_ns[0] - begin_ns) / NS_PER_S:.2f} s to {(made_ns[1] - end_ns) / NS_PER_S:+.2f} s",
             made_ns[0] < begin_ns and made_ns[1] > end_ns)
    first, last = (trace.launch_times[0], trace.launch_times[-1]) if trace.launch_times else (0, 0)
    for name, got, want in (("first recorded launch, from the beginning", first, begin_ns),
                            ("last recorded launch, from the end", last, end_ns)):
        rows.add(f"{run.label}: {name} of the span",
                 "within 0.1 s", f"{(got - want) / NS_PER_S:+.3f} s", abs(got - want) <= WINDOW_TOLERANCE_NS)
    made, recorded = between_marks(trace, marks, begin_ns + WINDOW_TOLERANCE_NS, end_ns - WINDOW_TOLERANCE_NS)
    rows.equal(f"{run.label}: launches recorded inside the span, by the program's own marks", made, recorded)
    rows.equal(f"{run.label}: launches recorded and counted as not recorded", marks[-1][1],
               trace.launch_count + launches_not_recorded_by_request(trace))
    # The program launches on while the span begins and ends.
    check_trace.check_nothing_lost(rows, run.label, trace, switches=2)


def kill(rows, run):
    trace, marks = run.trace(), run.marks()
    killed_ns, made = marks[-1]
    older = [count for time, count in marks if time <= killed_ns - LOST_SPAN_NS]
    allowed = made - (older[-1] if older else made)
    for name, recorded in (("launches", trace.launch_count), ("kernels", trace.kernel_count)):
        rows.add(f"{run.label}: {name} missing, of {made}", f"0 to {allowed}", made - recorded, 0 <= made - recorded <= allowed)
    last_ns = trace.launch_times[-1] if trace.launch_times else 0
    wrong = [count for time, count in marks if time <= last_ns and bisect.bisect(trace.launch_times, time) != count]
    rows.equal(f"{run.label}: marks of the program at which the trace had another count", 0, len(wrong))
    check_readable_without_end(rows, run, trace)


def exit_at_once(rows, run):
    trace = run.trace()
    check_counts(rows, run, trace, run.said("launches")[0])
    check_readable_without_end(rows, run, trace)


def nvtx(rows, run):
    trace = run.trace()
    expected = {path: run.said("range " + " > ".join(path))[0] for path in (("step", "forward"), ("step", "backward"))}
    rows.equal(f"{run.label}: launches by range: differences", "none",
               check_trace.differences(expected, trace.kernels_by_range_path))
    check_counts(rows, run, trace, run.said("launches")[0])
    check_trace.check_nothing_lost(rows, run.label, trace)


def loader(rows, run):
    rows.equal(f"{run.label}: trace files", 1, len(run.trace_paths))
    trace = run.trace()
    check_counts(rows, run, trace, run.said("launches")[0])
    check_trace.check_nothing_lost(rows, run.label, trace)


def plain_counts(rows, run):
    trace = run.trace()
    check_counts(rows, run, trace, run.said("launches")[0])
    check_trace.check_nothing_lost(rows, run.label, trace)


def streams(rows, run):
    trace = run.trace()
    least = run.said("launches_at_least")[0]
    rows.add(f"{run.label}: launches recorded", f">= {least}", trace.launch_count, trace.launch_count >= least)
    rows.equal(f"{run.label}: graph launches, kernels of graphs", (run.said("graph_launches")[0], run.said("graph_kernels")[0]),
               (trace.graph_launches, trace.graph_kernels))
    check_trace.check_nothing_lost(rows, run.label, trace)


def broken(rows, run):
    """The device has a fault: what CUPTI loses by it is not known beforehand, launches are ours."""
    trace = run.trace()
    least = run.said("launches_at_least")[0]
    rows.add(f"{run.label}: launches recorded", f">= {least}", trace.launch_count, trace.launch_count >= least)
    rows.equal(f"{run.label}: end of the trace", ("exit", True), (trace.end_reason, trace.complete))
    losses = check_trace.loss_stats()
    lost = [f"{losses[number]}={value}" for number, value in sorted(trace.stats.items()) if number in losses and value]
    rows.add(f"{run.label}: launches without a kernel; losses and faults, figures", "-",
             f"{trace.launches_without_kernel}; {' '.join(lost) or 'none'}", True)


def children(rows, run):
    expected = sorted(run.said("launches") + run.said("launches_of_child"))
    traces = [trace_file.read(path) for path in run.trace_paths]
    rows.equal(f"{run.label}: launches in each trace file", expected, sorted(trace.launch_count for trace in traces))
    rows.equal(f"{run.label}: kernels in each trace file", expected, sorted(trace.kernel_count for trace in traces))
    for path, trace in zip(run.trace_paths, traces):
        check_trace.check_nothing_lost(rows, f"{run.label}: {os.path.basename(path)}", trace)


def max_bytes(rows, run):
    trace = run.trace()
    totals, _, _, _, _ = check_trace.parse_expect(run.path(".out"))
    launches = sum(int(line["launches"]) for line in totals)
    rows.add(f"{run.label}: bytes of the trace", f"< {MAX_TRACE_BYTES:.0f}", trace.file_bytes, trace.file_bytes < MAX_TRACE_BYTES)
    check_counts(rows, run, trace, launches)
    rows.add(f"{run.label}: of these in summaries", "> 0, > 0", f"{trace.summarised_launches}, {trace.summarised_kernels}",
             trace.summarised_launches > 0 and trace.summarised_kernels > 0)
    rows.equal(f"{run.label}: end of the trace", ("exit", True), (trace.end_reason, trace.complete))


def yielding(rows, run):
    trace = run.trace()
    events = run.said("gpu_events", injected=False)[0]
    rows.add(f"{run.label}: GPU events that PyTorch's profiler sees", f"{events}, > 0", run.said("gpu_events")[0],
             run.said("gpu_events")[0] == events > 0)
    rows.equal(f"{run.label}: end of the trace", ("yielded", True), (trace.end_reason, trace.complete))
    before = run.said("before_profiler")[0]
    rows.add(f"{run.label}: launches recorded before that", f">= {before}", trace.launch_count, trace.launch_count >= before)


def staying(rows, run):
    """Without GPUEXEC_YIELD the program's profiler is the one that gets nothing; both it and the trace end well."""
    trace = run.trace()
    rows.equal(f"{run.label}: PyTorch's profiler ends, with this many results", 1, len(run.said("gpu_events")))
    check_trace.check_nothing_lost(rows, run.label, trace)


# Name of the run: (its checks, whether stdout is the same with and without gpuexec).
CHECKS = {
    "region": (region, True),
    "span": (span, True),
    "kill": (kill, True),
    "exit_at_once": (exit_at_once, True),
    "nvtx": (nvtx, True),
    "loader": (loader, True),
    "spawned_loader": (loader, True),
    "killed_worker": (plain_counts, True),
    "memory_limit": (plain_counts, True),
    "streams": (streams, True),
    "broken": (broken, True),
    "children": (children, True),
    "max_bytes": (max_bytes, True),
    "yielding": (yielding, True),
    "staying": (staying, False),
}


def check_manners(rows, run, exit_code, same_output):
    codes = tuple(run.text(".rc", injected).decode().strip() for injected in (False, True))
    rows.equal(f"{run.label}: exit code without and with gpuexec", (str(exit_code), str(exit_code)), codes)
    if same_output:
        same = run.text(".out") == run.text(".out", injected=False) != b""
        rows.equal(f"{run.label}: stdout byte-identical", "yes", "yes" if same else "no")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=CHECKS)
    for option in ("--bare", "--injected", "--traces"):
        parser.add_argument(option, metavar="DIR", required=True)
    parser.add_argument("--exit-code", type=int, default=0)
    parser.add_argument("--label", default="scenario")
    parser.add_argument("--rows", metavar="FILE")
    arguments = parser.parse_args()
    rows = rows_module.Rows(arguments.rows)
    run = Run(arguments)
    function, same_output = CHECKS[arguments.name]
    check_manners(rows, run, arguments.exit_code, same_output)
    try:
        function(rows, run)
    except (OSError, ValueError, KeyError, IndexError, trace_file.DamagedTrace) as error:
        rows.add(f"{arguments.label}: {arguments.name}", "a comparison", f"{type(error).__name__}: {error}", False)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())
