"""Compares a run of gx-sampling-hazards under gpuexec, sampled without a budget, with the same run without gpuexec.

  check_hazards.py NAME --bare DIR --injected DIR --trace T

NAME.out, NAME.err and NAME.rc in both folders. Checked: exit code and standard output are the same; the program's own time is
that without gpuexec, plus the deadlines, plus what sessions and windows cost by their own account; and what else NAME asks
for (CHECKS below). --label TEXT goes before each row, --rows FILE also gets the rows.
"""

import argparse
import collections
import os
import re
import sys

import check_counters
import check_trace
import rows as rows_module
import trace_file

# The longest that a launch is waited for (inject/sampling_wait.h), and what a machine's mood may add.
LONGEST_DEADLINE_S = 10.0
SLACK_RATIO, SLACK_S = 0.25, 1.0
# A program that sampling never met proves nothing. Its kernels that valid samples must be of; none: any.
SAMPLED = {"wait_later": "keep_busy", "wait_sooner": "pass_on", "capture": None, "reset": None, "contexts": None,
           "collective": "mix_values", "threads": None, "devices": None}
# Its only kernel is the one that does not complete: met by a range that is void.
MET_BY_A_VOID_RANGE = {"wait_host"}
# No session at all is fine, too: nobody but a thread itself can ask for its own default stream whether it is idle.
SAMPLED_OR_LEFT_ALONE = {"per_thread"}
# A session is given up with the launch that does not complete, or goes with its context, and with it what it had counted.
LOST_WITH_A_SESSION = {name: ("STAT_COUNTER_RANGES_LOST",) for name in ("wait_later", "wait_host", "reset", "peer")}


class Run:
    def __init__(self, folder, name):
        self.out, self.err, self.code = (
            check_trace.read_bytes(os.path.join(folder, name + suffix)).decode("utf-8", "replace") for suffix in (".out", ".err", ".rc")
        )
        self.code = self.code.strip()

    @property
    def own_s(self):
        found = re.search(r"^own_seconds ([0-9.]+)$", self.err, re.MULTILINE)
        return float(found.group(1)) if found else None

    @property
    def launches(self):
        found = re.search(r"^launches (\d+)$", self.out + self.err, re.MULTILINE)
        return int(found.group(1)) if found else None

    @property
    def skipped(self):
        return self.out.startswith("SKIP")


def sampled_kernels(trace):
    """{kernel name, or "graphs": valid samples}."""
    return collections.Counter("graphs" if sample.graph_exec_id else trace.signature_shapes[sample.signature_iid].name
                               for sample in trace.counters.samples if sample.valid and (sample.graph_exec_id or sample.signature_iid))


def denials_of(trace, kernel):
    return [d for d in trace.counters.denials if trace.function_names.get(d.function_iid) == kernel]


def denied(rows, label, trace, kernel, reason):
    found = denials_of(trace, kernel)
    samples = sampled_kernels(trace)[kernel]
    rows.add(f"{label}: {kernel} is denied, reason {reason}", "once, no valid sample of it",
             f"{[f'{d.reason} {d.detail}'.strip() for d in found]}, {samples} samples",
             [d.reason for d in found] == [reason] and samples == 0)


def wait_sooner(rows, label, trace):
    rows.equal(f"{label}: kernels denied", "none", ", ".join(d.reason for d in trace.counters.denials) or "none")


def wait_later(rows, label, trace):
    denied(rows, label, trace, "pass_on", "deadline")


def wait_host(rows, label, trace):
    denied(rows, label, trace, "receive", "deadline")


def capture(rows, label, trace):
    # STAT_COUNTER_CAPTURES_WAITED, STAT_COUNTER_SKIPPED_CAPTURE
    rows.add(f"{label}: captures that waited for a sample, launches not sampled because of a capture", "-",
             f"{trace.stats.get(104, 0)}, {trace.stats.get(111, 0)}", True)
    rows.add(f"{label}: samples of whole graph launches", "-", sum(bool(s.graph_exec_id) for s in trace.counters.samples), True)


def collective(rows, label, trace):
    kernel = "ncclDevKernel_AllReduce_Sum_u32_RING_LL"
    names = {trace.signature_shapes[s.signature_iid].name for s in trace.counters.samples if s.signature_iid}
    rows.add(f"{label}: kernels in ranges", "mix_values alone", sorted(names), names == {"mix_values"})
    reasons = [d.reason for d in denials_of(trace, kernel)]
    rows.equal(f"{label}: {kernel} is denied", ["name"], reasons)


def contexts_of_samples(trace):
    return {s.context_id for s in trace.counters.samples if s.valid}


def two_contexts(rows, label, trace):
    rows.add(f"{label}: contexts sampled in", "> 0", sorted(contexts_of_samples(trace)), len(contexts_of_samples(trace)) > 0)


def peer(rows, label, trace):
    rows.add(f"{label}: samples in a context with peer access", "none, or pass_on denied",
             f"{sum(s.valid for s in trace.counters.samples)}, {[d.reason for d in trace.counters.denials]}",
             bool(denials_of(trace, "pass_on")) or any(d.reason == "peer memory" for d in trace.counters.denials))


def nothing_more(rows, label, trace):
    pass


CHECKS = {
    "wait_later": wait_later,
    "wait_sooner": wait_sooner,
    "wait_host": wait_host,
    "capture": capture,
    "reset": two_contexts,
    "contexts": two_contexts,
    "threads": nothing_more,
    "per_thread": nothing_more,
    "collective": collective,
    "devices": two_contexts,
    "peer": peer,
}


def check_time(rows, label, bare, injected, trace):
    if bare.own_s is None or injected.own_s is None:
        rows.add(f"{label}: own time", "said by both runs", f"{bare.own_s}, {injected.own_s}", False)
        return
    counters = trace.counters
    deadlines = sum(denial.reason == "deadline" for denial in counters.denials)
    account_s = (counters.cost_ns() + sum(window.switch_cost_ns for window in counters.windows.values())) / 1e9
    allowed_s = bare.own_s * (1 + SLACK_RATIO) + SLACK_S + deadlines * LONGEST_DEADLINE_S + account_s
    rows.add(f"{label}: own time under gpuexec", f"<= {allowed_s:.1f} s",
             f"{injected.own_s:.2f} s, without {bare.own_s:.2f} s; sessions and switches {account_s:.2f} s, deadlines {deadlines}",
             injected.own_s <= allowed_s)


def check_trace_of(rows, label, name, injected, trace):
    end = "whole file, trailer" if trace.complete and trace.orderly_end else "cut file" if not trace.complete else "no trailer"
    rows.equal(f"{label}: end of the trace", "whole file, trailer", end)
    check_counters.check_losses(rows, label, trace, LOST_WITH_A_SESSION.get(name, ()))
    if injected.launches is not None:
        rows.equal(f"{label}: launches recorded", injected.launches, trace.launch_count)
    outcomes = {}
    for session in trace.counters.sessions.values():
        outcomes[session.outcome] = outcomes.get(session.outcome, 0) + 1
    check_met(rows, label, name, trace, outcomes)


def check_met(rows, label, name, trace, outcomes):
    """That sampling met the program at all."""
    sampled = sampled_kernels(trace)
    void = sum(not sample.valid for sample in trace.counters.samples)
    if name in SAMPLED:
        kernel = SAMPLED[name]
        bar, met = f"valid ones of {kernel or 'any kernel'}", bool(sampled[kernel] if kernel else sampled)
    elif name in MET_BY_A_VOID_RANGE:
        bar, met = "a range", void > 0 or bool(sampled)
    elif name in SAMPLED_OR_LEFT_ALONE:
        bar, met = "valid ones, or no session", bool(sampled) or not outcomes
    else:
        bar, met = "-", True
    kernels = f" ({', '.join(f'{kernel} {count}' for kernel, count in sorted(sampled.items()))})" if sampled else ""
    rows.add(f"{label}: samples", bar, f"{sampled.total()} valid{kernels}, {void} void; sessions {outcomes or 'none'}", met)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=CHECKS)
    for option in ("--bare", "--injected", "--trace"):
        parser.add_argument(option, required=True)
    parser.add_argument("--describe", metavar="FILE", help="what check_counters.py describe would print")
    parser.add_argument("--label", default="hazard")
    parser.add_argument("--rows", metavar="FILE")
    arguments = parser.parse_args()
    rows, label = rows_module.Rows(arguments.rows), arguments.label
    bare, injected = Run(arguments.bare, arguments.name), Run(arguments.injected, arguments.name)
    if bare.skipped and injected.skipped:
        rows.add(f"{label}: skipped by the program", "-", bare.out.splitlines()[0], True)
        return rows.finish()
    rows.equal(f"{label}: exit code without and with gpuexec", ("0", "0"), (bare.code, injected.code))
    rows.equal(f"{label}: stdout byte-identical", "yes", "yes" if bare.out == injected.out != "" else "no")
    try:
        trace = trace_file.read(arguments.trace)
        check_counters.describe_to(arguments.describe, trace)
        check_time(rows, label, bare, injected, trace)
        check_trace_of(rows, label, arguments.name, injected, trace)
        CHECKS[arguments.name](rows, label, trace)
    except (OSError, ValueError, KeyError, trace_file.DamagedTrace) as error:
        rows.add(f"{label}: {arguments.name}", "a comparison", f"{type(error).__name__}: {error}", False)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())
