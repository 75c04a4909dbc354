"""What a launch costs under gpuexec: gx-kernels' launch_storm, whole processes timed from outside, interleaved.

  check_overhead.py --kernels GX_KERNELS --inject LIBRARY --scratch DIR [--rounds N] [--seconds N] [--samples FILE]

Each round times each mode at two sizes. The difference is what the launches between them took; what the small size
takes more than without gpuexec is start-up and exit. These are figures, not bars: other work on the machine moves them.
--samples FILE gets every time. A run that fails, or is over its limit, is a check that fails.
"""

import argparse
import glob
import os
import statistics
import subprocess
import sys
import time

import rows as rows_module

SMALL, LARGE = 1_000, 400_000
LIMIT_OF_ONE_RUN_S = 30
# Mode: its settings; None is without gpuexec.
# Hardware counters are off: what they cost is part k's.
MODES = {"without gpuexec": None, "GPUEXEC_TIMING=off": {"GPUEXEC_TIMING": "off", "GPUEXEC_COUNTERS": "off"},
         "launches and timings": {"GPUEXEC_COUNTERS": "off"}}


def timed(arguments, settings, size):
    """(seconds, exit code) of one process."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("GPUEXEC_") and name != "CUDA_INJECTION64_PATH"}
    if settings is not None:
        trace = os.path.join(arguments.scratch, "overhead.pb")
        environment |= {"CUDA_INJECTION64_PATH": arguments.inject, "GPUEXEC_OUTPUT": trace} | settings
    command = [arguments.kernels, "--case", "launch_storm", "--size", str(size)]
    begin = time.monotonic_ns()
    try:
        code = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=LIMIT_OF_ONE_RUN_S, check=False).returncode
    except subprocess.TimeoutExpired:
        code = "over its limit"
    seconds = (time.monotonic_ns() - begin) / 1e9
    traces = glob.glob(os.path.join(glob.escape(arguments.scratch), "overhead*.pb"))
    if code == 0 and (settings is not None) != bool(traces):
        code = "no trace" if settings is not None else "a trace, unasked"
    for path in traces:
        os.remove(path)
    return seconds, code


def figure(values, digits):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--kernels", "--inject", "--scratch"):
        parser.add_argument(option, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=90, help="no round is begun that would not end by then")
    parser.add_argument("--samples", metavar="FILE", default=os.devnull)
    parser.add_argument("--label", default="overhead")
    parser.add_argument("--rows", metavar="FILE")
    arguments = parser.parse_args()
    rows = rows_module.Rows(arguments.rows)

    began = time.monotonic()
    per_launch_us = {mode: [] for mode in MODES}
    constant_ms = {mode: [] for mode in MODES}
    bad = []
    longest_round_s = 0
    with open(arguments.samples, "w", encoding="utf-8") as samples:
        print("round\tmode\tlaunches\tseconds\texit_code", file=samples)
        for number in range(arguments.rounds + 1):
            round_began = time.monotonic()
            if round_began - began + longest_round_s > arguments.seconds:
                break
            for mode, settings in MODES.items():
                seconds = {}
                # Round 0 only fills the caches of files.
                for size in (SMALL,) if number == 0 else (SMALL, LARGE):
                    seconds[size], code = timed(arguments, settings, size)
                    print(number, mode, size, f"{seconds[size]:.6f}", code, sep="\t", file=samples, flush=True)
                    if code != 0:
                        bad.append(f"{mode}, {size} launches: {code}")
                if number > 0:
                    per_launch_us[mode].append((seconds[LARGE] - seconds[SMALL]) / (LARGE - SMALL) * 1e6)
                    constant_ms[mode].append(seconds[SMALL] * 1e3)
            longest_round_s = max(longest_round_s, time.monotonic() - round_began)

    bare, *recorded = MODES
    rounds = len(per_launch_us[bare])
    rows.add(f"{arguments.label}: runs that failed", "none", "; ".join(bad[:3]) or "none", not bad)
    rows.add(f"{arguments.label}: rounds", ">= 1", rounds, rounds >= 1)
    if rounds == 0:
        return rows.finish()
    for mode in MODES:
        rows.add(f"{arguments.label}: us per launch, {mode}", "-", figure(per_launch_us[mode], 3), True)
    for mode in recorded:
        added = [ours - theirs for ours, theirs in zip(per_launch_us[mode], per_launch_us[bare])]
        rows.add(f"{arguments.label}: us added per launch, {mode}", "-", figure(added, 3), True)
    rows.add(f"{arguments.label}: ms of {SMALL} launches, start and exit, {bare}", "-", figure(constant_ms[bare], 0), True)
    for mode in recorded:
        added = [ours - theirs for ours, theirs in zip(constant_ms[mode], constant_ms[bare])]
        rows.add(f"{arguments.label}: ms added at start and exit, {mode}", "-", figure(added, 0), True)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())
