"""Compares a run of gx-replay-once under GPUEXEC_REPLAY with what the program says of itself.

  check_replay.py single|multi|refused --out FILE --code FILE --trace T

--out: its standard output, --code: its exit code. Always checked: the program's results are right, nothing is lost, every
launch is recorded. single and multi: each kernel has replayed samples (multi: of every group of the plan that is not spare),
and no metric that is known on paper differs by more than 0.1 %. refused: no sample is a replayed one, and the trace says why.
--label TEXT goes before each row, --rows FILE also gets the rows.
"""

import argparse
import collections
import math
import sys

import check_counters
import check_trace
import counter_packets
import rows as rows_module
import trace_file

TOLERANCE_RATIO = 0.001
STAT_COUNTER_REPLAYS_REFUSED = 133
KERNELS = ("once_count", "once_chain", "once_add", "once_reverse", "once_ticket")


class Program:
    """What gx-replay-once printed."""

    def __init__(self, text):
        # {kernel: {metric: value}}, ["once_count 5 instead of 4"], launches
        self.expected, self.wrong, self.results, self.launches = {}, [], 0, None
        for line in text.splitlines():
            words = line.split()
            if len(words) == 4 and words[0] == "expect":
                self.expected.setdefault(words[1], {})[words[2]] = int(words[3])
            elif len(words) >= 3 and words[0] == "result":
                self.results += 1
                if words[2] != "ok":
                    self.wrong.append(" ".join(words[1:]))
            elif len(words) == 2 and words[0] == "launches":
                self.launches = int(words[1])


def kernel_of(trace, sample):
    return trace.signature_shapes[sample.signature_iid].name if sample.signature_iid else ""


def replayed_samples(trace):
    """{kernel: [valid replayed samples]}."""
    found = collections.defaultdict(list)
    for sample in trace.counters.samples:
        if sample.valid and sample.flags & counter_packets.FLAG_REPLAYED:
            found[kernel_of(trace, sample)].append(sample)
    return found


def check_results(rows, label, program, code):
    rows.equal(f"{label}: exit code", "0", code)
    rows.add(f"{label}: results of the kernels", "right", "; ".join(program.wrong) or f"{program.results} right",
             not program.wrong and program.results > 0)


def check_known(rows, label, program, trace, samples):
    counters = trace.counters
    compared, differing = 0, []
    for kernel, metrics in program.expected.items():
        for metric, expected in metrics.items():
            for sample in samples[kernel]:
                value = counters.value(sample, metric)
                if value is None:
                    continue
                compared += 1
                if math.isnan(value) or abs(value - expected) > TOLERANCE_RATIO * expected:
                    differing.append(f"{kernel} {metric}: {value:g} instead of {expected}")
    rows.add(f"{label}: known answers in replayed samples", "within 0.1 %",
             "; ".join(differing[:5]) or f"{compared} compared", compared > 0 and not differing)


def check_replayed(rows, label, mode, program, trace):
    samples = replayed_samples(trace)
    planned = {group.iid for group in trace.counters.planned_groups() if not group.spare}
    for kernel in KERNELS:
        groups = {sample.group_iid for sample in samples[kernel]}
        if mode == "multi":
            rows.equal(f"{label}: {kernel}: groups with replayed samples", len(planned), len(groups & planned))
        else:
            rows.add(f"{label}: {kernel}: groups with replayed samples", "> 0",
                     ", ".join(sorted(trace.counters.groups[iid].name for iid in groups)) or "none", bool(groups))
    nan_count = sum(math.isnan(value) for found in samples.values() for sample in found for value in sample.values)
    rows.add(f"{label}: values that are NaN", 0, nan_count, nan_count == 0)
    sessions = [s for s in trace.counters.sessions.values() if s.completion_wait_ns]
    if sessions:
        rows.add(f"{label}: ms of a replay: enable and start, launch, stop to disable", "-", "; ".join(
            f"{(s.enable_ns + s.start_ns) / 1e6:.0f}, {s.completion_wait_ns / 1e6:.0f}, "
            f"{(s.stop_ns + s.decode_ns + s.disable_ns) / 1e6:.0f}" for s in sessions[:6]), True)
    check_known(rows, label, program, trace, samples)


def check_refused(rows, label, trace):
    samples = replayed_samples(trace)
    rows.equal(f"{label}: replayed samples", 0, sum(len(found) for found in samples.values()))
    refused = trace.stats.get(STAT_COUNTER_REPLAYS_REFUSED, 0)
    rows.add(f"{label}: launches that were refused", "> 0", refused, refused > 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("single", "multi", "refused"))
    for option in ("--out", "--code", "--trace"):
        parser.add_argument(option, required=True)
    parser.add_argument("--label", default="replay")
    parser.add_argument("--rows", metavar="FILE")
    arguments = parser.parse_args()
    rows, label = rows_module.Rows(arguments.rows), arguments.label
    program = Program(check_trace.read_bytes(arguments.out).decode("utf-8", "replace"))
    check_results(rows, label, program, check_trace.read_bytes(arguments.code).decode("utf-8", "replace").strip())
    try:
        trace = trace_file.read(arguments.trace)
        rows.equal(f"{label}: launches recorded", program.launches, trace.launch_count)
        check_counters.check_losses(rows, label, trace, ("STAT_COUNTER_REPLAYS_REFUSED",) if arguments.mode == "refused" else ())
        if arguments.mode == "refused":
            check_refused(rows, label, trace)
        else:
            check_replayed(rows, label, arguments.mode, program, trace)
    except (OSError, ValueError, KeyError, trace_file.DamagedTrace) as error:
        rows.add(f"{label}: {arguments.mode}", "a comparison", f"{type(error).__name__}: {error}", False)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())
