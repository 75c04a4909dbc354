"""Of a long run of gx-thread-storm: nothing grows, nothing is lost.

  check_storm.py --samples FILE --out FILE --trace T --analyze PROGRAM [--bare FILE] [--table FILE]

--samples: its standard error, --out: its standard output. Bars: after the first minute memory and open files of the process stay
as they are (memory within 1 % and 4 MiB of what it was, each later minute's median against the second's), launches in the trace
are launches made, each is a kernel record or in a window of counters, and the analyzer finds nothing missing (exit code 0).
--bare: the samples of a run without gpuexec, for figures. --table FILE gets a line a minute. --label TEXT goes before each row,
--rows FILE also gets the rows.
"""

import argparse
import json
import statistics
import subprocess
import sys

import rows as rows_module

GROWTH_KIB = 4096
GROWTH_SHARE = 0.01


def read_samples(text):
    """[(seconds, launches, resident KiB, open files, device MiB)]"""
    samples = []
    for line in text.splitlines():
        words = line.split()
        if len(words) == 6 and words[0] == "sample":
            samples.append((float(words[1]),) + tuple(int(word) for word in words[2:]))
    return samples


def minutes(samples):
    """[(minute, launches at its end, median of resident KiB, most open files, most device MiB)], whole minutes alone."""
    if not samples:
        return []
    rows = []
    for minute in range(int(samples[-1][0] // 60)):
        inside = [sample for sample in samples if 60 * minute <= sample[0] < 60 * (minute + 1)]
        if inside:
            rows.append((minute, inside[-1][1], statistics.median(sample[2] for sample in inside), max(sample[3] for sample in inside),
                         max(sample[4] for sample in inside)))
    return rows


def check_growth(rows, label, by_minute):
    later = by_minute[1:]
    if len(later) < 2:
        rows.add(f"{label}: minutes after the first", ">= 2", len(later), False)
        return
    base = later[0][2]
    bar = max(GROWTH_KIB, GROWTH_SHARE * base)
    most = max(row[2] for row in later) - base
    rows.add(f"{label}: memory of the process after the first minute", f"grows by at most {bar / 1024:.1f} MiB",
             f"{base / 1024:.1f} MiB, then {most / 1024:+.2f} MiB at most, {(later[-1][2] - base) / 1024:+.2f} MiB in the last minute",
             most <= bar)
    files = [row[3] for row in later]
    rows.add(f"{label}: open files after the first minute", "no growth", f"{files[0]}, at most {max(files)}", max(files) <= files[0])
    device = [row[4] for row in later]
    rows.add(f"{label}: memory of the device after the first minute", "no growth", f"{device[0]} MiB, at most {max(device)} MiB",
             max(device) <= device[0])


def check_accounting(rows, label, made, report, code):
    rows.equal(f"{label}: exit code of the analyzer, 1 where something is missing", 0, code)
    accounting = {}
    for process in report.get("process", []):
        for name, value in process.get("accounting", {}).items():
            accounting[name] = accounting.get(name, 0) + int(value)
    rows.equal(f"{label}: launches in the trace", made, accounting.get("launch_count", 0))
    records, windows = accounting.get("kernel_record_count", 0), accounting.get("counter_window_launch_count", 0)
    rows.add(f"{label}: launches with a record, or in a window of counters", made, f"{records} + {windows}", records + windows == made)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--trace", required=True)
    parser.add_argument("--analyze", required=True)
    parser.add_argument("--bare")
    parser.add_argument("--table", metavar="FILE")
    parser.add_argument("--label", default="storm")
    parser.add_argument("--rows", metavar="FILE")
    arguments = parser.parse_args()
    rows, label = rows_module.Rows(arguments.rows), arguments.label
    try:
        with open(arguments.samples, encoding="utf-8", errors="replace") as file:
            by_minute = minutes(read_samples(file.read()))
        with open(arguments.out, encoding="utf-8") as file:
            words = dict(line.split(maxsplit=1) for line in file.read().splitlines() if " " in line)
        if arguments.table:
            with open(arguments.table, "w", encoding="utf-8") as file:
                print("minute", "launches", "resident KiB", "open files", "device MiB", sep="\t", file=file)
                for row in by_minute:
                    print(*row, sep="\t", file=file)
        rows.equal(f"{label}: results", "ok", words.get("result", "none"))
        made = int(words.get("launches", 0))
        rows.add(f"{label}: launches", "> 0", made, made > 0)
        check_growth(rows, label, by_minute)
        if arguments.bare:
            with open(arguments.bare, encoding="utf-8", errors="replace") as file:
                bare = read_samples(file.read())
            if bare:
                rows.add(f"{label}: launches a second without gpuexec, figure", "-", f"{bare[-1][1] / bare[-1][0]:.0f}", True)
        found = subprocess.run([arguments.analyze, "--no-report", "--format", "json", "--top", "0", arguments.trace],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=200, check=False)
        check_accounting(rows, label, made, json.loads(found.stdout or b"{}"), found.returncode)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        rows.add(f"{label}: storm", "samples and a report", f"{type(error).__name__}: {error}", False)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())
