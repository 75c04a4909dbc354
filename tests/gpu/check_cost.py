"""What hardware counters cost a PyTorch decode loop, against ncu on the same metrics: pairs in turn, in one run.

  check_cost.py --inject LIBRARY --scratch DIR --samples FILE [--set core|lean] [--replay] [--pairs N] [--steps N]
                [--long-steps N] [--seconds N] [--no-warm-up]

A pair is the program bare, under gpuexec (the set, GPUEXEC_BUDGET=off) and under ncu (`--filter-mode per-launch-config -c 1`,
the metrics of the groups that gpuexec counted). What gpuexec adds is its time inside calls (the sessions of the trace) and
what the steps that overlap a counter window, or a switch, took longer than a usual step outside of them, of the same run:
times of two processes are not alike enough to tell milliseconds a step (against a bare step is another figure). The bar is on their sum, although calls on the program's threads are inside of steps; the larger of the two is a second figure.
What ncu adds is the wall time of the process beyond the bare one; of the steps alone, as a second figure.

With --replay each pair has one run more: the same set by GPUEXEC_REPLAY=multi, which runs launches again, as ncu does. What
it adds is the wall time of the process beyond the bare one, as for ncu.

Where the steps end before every group has been counted, that is said, and a longer run (--long-steps) tells what the whole
set costs. --samples FILE gets every figure of every pair.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

import check_counters
import check_ncu
import counter_packets
import coverage
import gpu_program
import rows as rows_module
import trace_file

# The project's own bars.
LEAST_RATIO = {"core": 20, "lean": 8}
LIMIT_OF_ONE_RUN_S = 120
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "decode.py")


class Run:
    """One process: its wall time, and of its steps."""

    def __init__(self, arguments, name, steps, prefix=(), settings=None):
        self.steps_path = os.path.join(arguments.scratch, f"{name}.steps")
        command = [*prefix, sys.executable, PROGRAM, "--eager-only", "--steps", str(steps), "--step-times", self.steps_path]
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith("GPUEXEC_") and k != "CUDA_INJECTION64_PATH"} | (settings or {}) | {"LC_ALL": "C"}
        begin = time.monotonic()
        with open(os.path.join(arguments.scratch, f"{name}.err"), "w", encoding="utf-8") as errors:
            code = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors,
                                  timeout=LIMIT_OF_ONE_RUN_S, check=False).returncode
        self.wall_s = time.monotonic() - begin
        if code != 0:
            raise ValueError(f"{name}: exit code {code}, see {name}.err")
        self.steps = gpu_program.read_step_times(self.steps_path)
        # Steps and the waits after every few of them.
        self.usual_step_s = statistics.median((end - begin) / 1e9 for begin, end in self.steps)
        self.loop_s = sum(end - begin for begin, end in gpu_program.read_step_times(self.steps_path, "phase")) / 1e9


def overlaps(step, spans):
    return any(begin < step[1] and step[0] < end for begin, end in spans)


def counter_spans(counters):
    """[(begin, end)] of counter windows, with the switches into them and out of them."""
    windows = sorted(counters.windows.values(), key=lambda window: window.begin_ns)
    spans = []
    for window, after in zip(windows, windows[1:] + [None]):
        if window.kind == counter_packets.WINDOW_COUNTERS:
            end = after.begin_ns if after else window.end_ns if window.end_ns is not None else 1 << 63
            spans.append((window.begin_ns - window.switch_cost_ns, end))
    return spans


class Added:
    """Seconds that counters added to a run. `bare_step_s`: a usual step without gpuexec."""

    def __init__(self, run, trace, bare_step_s=None):
        counters = trace.counters
        spans = counter_spans(counters)
        # What a switch leaves behind is in the step after it.
        inside, outside = [], []
        last_inside = False
        for step in run.steps:
            in_window = overlaps(step, spans)
            (inside if in_window or last_inside else outside).append((step[1] - step[0]) / 1e9)
            last_inside = in_window
        self.usual_step_s = statistics.median(outside or inside)
        self.slowdown_s = sum(inside) - len(inside) * self.usual_step_s
        self.slowdown_to_bare_s = sum(inside) - len(inside) * (bare_step_s or self.usual_step_s)
        self.steps_inside = len(inside)
        self.program_calls_s = sum(session.program_ns for session in counters.sessions.values()) / 1e9
        self.switch_calls_s = sum(session.switch_ns for session in counters.sessions.values()) / 1e9
        self.calls_s = self.program_calls_s + self.switch_calls_s
        self.most_s = self.calls_s + max(0.0, self.slowdown_s)
        self.least_s = max(self.calls_s, self.slowdown_s)
        self.complete_share, _ = coverage.complete_share(trace)
        self.sessions = len(counters.sessions)
        self.samples = len(counters.samples)


def traced(arguments, name, steps, settings=None):
    path = os.path.join(arguments.scratch, f"{name}.pb")
    run = Run(arguments, name, steps, settings={"CUDA_INJECTION64_PATH": arguments.inject, "GPUEXEC_OUTPUT": path,
                                                "GPUEXEC_COUNTERS": arguments.set, "GPUEXEC_BUDGET": "off"} | (settings or {}))
    trace = trace_file.read(path)
    check_counters.describe_to(os.path.join(arguments.scratch, f"{name}.counters.txt"), trace)
    return run, trace


def under_gpuexec(arguments, name, steps, bare_step_s):
    run, trace = traced(arguments, name, steps)
    return run, trace, Added(run, trace, bare_step_s)


def under_replay(arguments, name):
    """The run, and how many launches were counted."""
    run, trace = traced(arguments, name, arguments.steps, {"GPUEXEC_REPLAY": "multi"})
    return run, sum(bool(sample.flags & counter_packets.FLAG_REPLAYED) for sample in trace.counters.samples)


def counted_metrics(trace):
    """Of the groups that have samples: ncu is not asked for more than gpuexec counted."""
    metrics = []
    counted = {sample.group_iid for sample in trace.counters.samples}
    for iid, group in trace.counters.groups.items():
        if iid not in counted:
            continue
        metrics += [m for m in group.metrics if m not in metrics and not m.endswith(".peak_sustained")]
    if not metrics:
        raise ValueError("the trace has no samples")
    return metrics


def under_ncu(arguments, name, metrics):
    ncu = check_ncu.find_ncu()
    if ncu is None:
        raise ValueError("no ncu found")
    prefix = [ncu, "--clock-control", "none", "--cache-control", "none", "--filter-mode", "per-launch-config",
              "--launch-count", "1", "--csv", "--page", "raw", "--metrics", ",".join(metrics),
              "--log-file", os.path.join(arguments.scratch, f"{name}.csv")]
    return Run(arguments, name, arguments.steps, prefix=prefix)


def spread(values, digits=1):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--inject", "--scratch", "--samples"):
        parser.add_argument(option, required=True)
    parser.add_argument("--set", choices=sorted(LEAST_RATIO), default="core")
    parser.add_argument("--replay", action="store_true", help="also by GPUEXEC_REPLAY=multi")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--long-steps", type=int, default=1500, help="0: no longer run")
    parser.add_argument("--no-warm-up", action="store_true", help="the files of PyTorch are in memory already")
    parser.add_argument("--seconds", type=float, default=240, help="no pair is begun that would not end by then")
    parser.add_argument("--label", default="cost")
    parser.add_argument("--rows", metavar="FILE")
    arguments = parser.parse_args()
    rows, label = rows_module.Rows(arguments.rows), arguments.label
    least_ratio = LEAST_RATIO[arguments.set]
    began, pairs, replays, problem, long_run, longest_s = time.monotonic(), [], [], "", None, 0.0
    with open(arguments.samples, "w", encoding="utf-8") as samples:
        print("pair", "bare_wall_s", "bare_loop_s", "gpuexec_wall_s", "gpuexec_loop_s", "calls_program_s", "calls_switching_s",
              "slowdown_s", "steps_in_windows", "usual_step_ms", "sessions", "samples", "complete_share", "ncu_wall_s",
              "ncu_loop_s", "replay_wall_s", "replayed_samples", sep="\t", file=samples)
        try:
            # The first run of all fills the caches of files.
            if not arguments.no_warm_up:
                Run(arguments, "warm_up", 10)
            for number in range(1, arguments.pairs + 1):
                pair_began = time.monotonic()
                if pair_began - began + longest_s > arguments.seconds:
                    break
                bare = Run(arguments, f"bare_{number}", arguments.steps)
                ours, trace, added = under_gpuexec(arguments, f"gpuexec_{number}", arguments.steps, bare.usual_step_s)
                theirs = under_ncu(arguments, f"ncu_{number}", counted_metrics(trace))
                replay, replayed = under_replay(arguments, f"replay_{number}") if arguments.replay else (None, 0)
                pairs.append((bare, ours, added, theirs))
                if replay:
                    replays.append((replay.wall_s - bare.wall_s, replayed, theirs.wall_s - bare.wall_s))
                print(number, f"{bare.wall_s:.3f}", f"{bare.loop_s:.3f}", f"{ours.wall_s:.3f}", f"{ours.loop_s:.3f}",
                      f"{added.program_calls_s:.4f}", f"{added.switch_calls_s:.4f}", f"{added.slowdown_s:.4f}",
                      added.steps_inside, f"{1e3 * added.usual_step_s:.3f}", added.sessions, added.samples,
                      f"{added.complete_share:.4f}", f"{theirs.wall_s:.3f}", f"{theirs.loop_s:.3f}",
                      f"{replay.wall_s:.3f}" if replay else "", replayed, sep="\t", file=samples, flush=True)
                longest_s = max(longest_s, time.monotonic() - pair_began)
            if arguments.long_steps and time.monotonic() - began < arguments.seconds:
                long_run = under_gpuexec(arguments, "gpuexec_long", arguments.long_steps,
                                         pairs[-1][0].usual_step_s if pairs else None)
        except (OSError, ValueError, KeyError, trace_file.DamagedTrace, subprocess.TimeoutExpired) as error:
            problem = f"{type(error).__name__}: {error}"
    rows.equal(f"{label}: runs that failed", "none", problem or "none")
    rows.add(f"{label}: pairs", f"{arguments.pairs}", len(pairs), len(pairs) == arguments.pairs)
    if not pairs:
        return rows.finish()
    ncu_added = [theirs.wall_s - bare.wall_s for bare, _, _, theirs in pairs]
    ncu_loop_added = [theirs.loop_s - bare.loop_s for bare, _, _, theirs in pairs]

    def ratios(added, ours):
        return [a / max(o, 1e-9) for a, o in zip(added, ours)]

    least, most = [p[2].least_s for p in pairs], [p[2].most_s for p in pairs]
    ratio = ratios(ncu_added, most)
    rows.add(f"{label}: times cheaper than ncu (time in calls plus slowdown)", f">= {least_ratio}", spread(ratio),
             statistics.median(ratio) >= least_ratio)
    rows.add(f"{label}: times cheaper than ncu, calls inside of slow steps counted once", "-", spread(ratios(ncu_added, least)), True)
    rows.add(f"{label}: times cheaper than ncu, of ncu the steps alone", "-", spread(ratios(ncu_loop_added, most)), True)
    rows.add(f"{label}: seconds added, gpuexec: calls; slowdown of steps", "-",
             f"{spread([p[2].calls_s for p in pairs], 3)}; {spread([p[2].slowdown_s for p in pairs], 3)}", True)
    rows.add(f"{label}: slowdown of these steps against a bare step, s", "-", spread([p[2].slowdown_to_bare_s for p in pairs], 3), True)
    rows.add(f"{label}: of the calls on the program's threads; switching", "-",
             f"{spread([p[2].program_calls_s for p in pairs], 3)}; {spread([p[2].switch_calls_s for p in pairs], 3)}", True)
    rows.add(f"{label}: seconds added, ncu: process; steps", "-", f"{spread(ncu_added, 2)}; {spread(ncu_loop_added, 2)}", True)
    rows.add(f"{label}: wall seconds: bare; gpuexec (with its tracing)", "-",
             f"{spread([p[0].wall_s for p in pairs], 2)}; {spread([p[1].wall_s for p in pairs], 2)}", True)
    rows.add(f"{label}: samples, sessions; share of GPU time with every core group", "-",
             f"{spread([p[2].samples for p in pairs], 0)}, {spread([p[2].sessions for p in pairs], 0)}; "
             f"{spread([100 * p[2].complete_share for p in pairs])} %", True)
    if replays:
        rows.add(f"{label}: seconds added, GPUEXEC_REPLAY=multi: process; samples by replay", "-",
                 f"{spread([replay[0] for replay in replays], 2)}; {spread([replay[1] for replay in replays], 0)}", True)
        rows.add(f"{label}: times cheaper than ncu, GPUEXEC_REPLAY=multi", "-",
                 spread(ratios([replay[2] for replay in replays], [replay[0] for replay in replays]), 2), True)
    if long_run:
        _, _, added = long_run
        rows.add(f"{label}: {arguments.long_steps} steps: calls; slowdown; share of GPU time with every core group", "-",
                 f"{added.calls_s:.3f} s; {added.slowdown_s:.3f} s; {100 * added.complete_share:.1f} %", True)
        rows.add(f"{label}: times cheaper than ncu at {arguments.steps} steps, gpuexec at {arguments.long_steps}", "-",
                 spread(ratios(ncu_added, [added.most_s] * len(pairs))), True)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())
