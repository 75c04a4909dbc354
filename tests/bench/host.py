"""What needs no GPU: how fast gx-analyze reads, how fast records are encoded, how fast the model computes.

  host.py [--bin DIR] [--out DIR] [--rounds N] [--kernels 1000000,10000000] [--only analyze,json,parts]

  analyze  gx-analyze on traces of so many kernels (synthetic_trace.cc, of the committed H200 traces): sizes take turns in
           each round; user time of the process, peak memory
  json     one million kernels as the Chrome-format JSON of PyTorch's profiler, loaded in Python and grouped by name in a dict, by
           pandas where it is installed and by SQLite, against gx-analyze
  parts    the Google benchmarks of the encoder, the model and the import

--bin is a release build's folder (default: build). samples go to DIR/host.tsv. Exit code: 0, 1 a bar is missed or a part
failed, 2 wrong usage.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GOLDEN = os.path.join(ROOT, "tests", "golden")
MIN_KERNELS_PER_S = 10e6
MAX_PEAK_BYTES = 512 << 20
JSON_KERNELS = 1_000_000

# What stands for "today": json.load, then kernel events grouped by name, in three ways.
LOAD = """
import json, statistics, sys
with open(sys.argv[1]) as file: events = json.load(file)["traceEvents"]
rows = [(e["name"], e["dur"]) for e in events if e.get("cat") == "kernel"]
"""
JSON_WAYS = {
    "a dict of lists": LOAD + """
by_name = {}
for name, dur in rows: by_name.setdefault(name, []).append(dur)
table = {n: (len(d), sum(d), statistics.median(d), min(d), max(d)) for n, d in by_name.items()}
""",
    "pandas": "import pandas" + LOAD + """
frame = pandas.DataFrame(rows, columns=["name", "dur"])
table = frame.groupby("name")["dur"].agg(["count", "sum", "median", "min", "max"])
""",
    "SQLite in memory, without medians": "import sqlite3" + LOAD + """
database = sqlite3.connect(":memory:")
database.execute("create table kernel (name text, dur real)")
database.executemany("insert into kernel values (?, ?)", rows)
table = database.execute("select name, count(*), sum(dur), min(dur), max(dur) from kernel group by name").fetchall()
""",
}


def run(command):
    """(user seconds, wall seconds, peak bytes, output) of a process."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    if process.returncode != 0:
        sys.exit(f"host.py: {' '.join(command)}: expected exit code 0, got {process.returncode}:\n{text[-800:]}")
    return usage.ru_utime, time.monotonic() - begin, usage.ru_maxrss * 1024, text


def make_trace(options, kernels, folder):
    path = os.path.join(folder, f"{kernels}.pb")
    text = run([os.path.join(options.bin, "tests/bench/gx-synthetic-trace"), str(kernels), path,
                os.path.join(GOLDEN, "h200_decode.trace.pb"), os.path.join(GOLDEN, "h200_counters.trace.pb")])[3]
    return path, int(text.split()[0])


def analyze(options, folder, samples):
    missed = False
    traces = [make_trace(options, int(kernels), folder) for kernels in options.kernels.split(",")]
    program = os.path.join(options.bin, "tools/gx-analyze")
    taken = {kernels: [] for _, kernels in traces}
    for number in range(options.rounds):
        for path, kernels in traces:
            user_s, wall_s, peak_bytes, _ = run([program, "--no-report", path])
            taken[kernels].append((user_s, peak_bytes))
            samples.append(("analyze", number, kernels, user_s, wall_s, peak_bytes))
    print(f"{'kernels':>12} {'bytes':>14} {'user s, median (range)':>26} {'M kernels/s':>12} {'peak MiB':>9}")
    for path, kernels in traces:
        users = [user_s for user_s, _ in taken[kernels]]
        peak_bytes = max(peak for _, peak in taken[kernels])
        median = statistics.median(users)
        rate = kernels / median
        print(f"{kernels:>12,} {os.path.getsize(path):>14,} {median:>10.2f} ({min(users):.2f} to {max(users):.2f})"
              f" {rate / 1e6:>15.2f} {peak_bytes / (1 << 20):>9.1f}")
        if rate < MIN_KERNELS_PER_S or peak_bytes > MAX_PEAK_BYTES:
            missed = True
            print(f"  bar missed: expected {MIN_KERNELS_PER_S / 1e6:.0f} M kernels/s and at most {MAX_PEAK_BYTES >> 20} MiB")
    return missed


def compare_json(options, folder, samples):
    path, kernels = make_trace(options, JSON_KERNELS, folder)
    dump = subprocess.Popen([os.path.join(options.bin, "tools/gx-dump"), "--records", path], stdout=subprocess.PIPE, text=True)
    chrome = os.path.join(folder, "chrome.json")
    names = {}
    attributes = {}
    with open(chrome, "w") as out:
        out.write('{"traceEvents":[\n')
        separator = ""
        for line in dump.stdout:
            kind, _, rest = line.partition(" ")
            if kind == "name":
                names[rest.split("iid: ")[1].split()[0]] = rest.split('value: "')[-1].rsplit('"', 1)[0]
            elif kind == "kernel_attributes" and "name_iid: " in rest:
                attributes[rest.split("iid: ")[1].split()[0]] = rest.split("name_iid: ")[1].split()[0]
            elif kind == "kernel":
                row = dict(field.split("=") for field in rest.split())
                event = {"ph": "X", "cat": "kernel", "name": names.get(attributes.get(row["attributes_iid"]), "?"), "pid": 0,
                         "tid": 7, "ts": int(row["start_ns"]) / 1000, "dur": int(row["duration_ns"]) / 1000,
                         "args": {"device": 0, "context": 1, "stream": 7, "correlation": int(row["correlation_id"]),
                                  "grid": [4, 16, 1], "block": [384, 1, 1]}}
                out.write(separator + json.dumps(event))
                separator = ",\n"
        out.write("\n]}\n")
    if dump.wait() != 0:
        sys.exit(f"host.py: gx-dump: expected exit code 0, got {dump.returncode}")
    ratios = {}
    spent = {}
    for number in range(options.rounds):
        ours = run([os.path.join(options.bin, "tools/gx-analyze"), "--no-report", path])
        samples.append(("json_gpuexec", number, kernels, *ours[:3]))
        for way, program in JSON_WAYS.items():
            if way == "pandas" and importlib.util.find_spec("pandas") is None:
                continue
            theirs = run([sys.executable, "-c", program, chrome])
            samples.append((f"json: {way}", number, kernels, *theirs[:3]))
            ratios.setdefault(way, []).append(theirs[0] / ours[0])
            spent.setdefault(way, []).append((theirs[0], theirs[2]))
    print(f"{kernels:,} kernels as JSON, {os.path.getsize(chrome):,} bytes, kernel events alone; gpuexec's file is "
          f"{os.path.getsize(chrome) / os.path.getsize(path):.1f} times smaller")
    for way, measured in ratios.items():
        print(f"  json.load and {way}: {statistics.median(s for s, _ in spent[way]):.2f} s user, {max(b for _, b in spent[way]) >> 20} MiB; "
              f"gx-analyze {statistics.median(measured):.1f} times faster ({min(measured):.1f} to {max(measured):.1f})")
    if "pandas" not in ratios:
        print("  json.load and pandas: left out: pandas is not installed")


def per_item(rates):
    if not rates:
        return ""
    return f" {statistics.median(rates) / 1e6:>10.3f} M/s, {1e9 / statistics.median(rates):.1f} ns each"


def parts(options, samples):
    for name in ("encode_benchmark", "model_benchmark", "ladder_benchmark", "analyze_benchmark"):
        program = os.path.join(options.bin, "tests/bench", name)
        if not os.path.exists(program):
            print(f"{name}: left out: not built (Google benchmark not found?)")
            continue
        text = subprocess.run([program, "--benchmark_format=json", f"--benchmark_repetitions={options.rounds}",
                               "--benchmark_enable_random_interleaving=true"], capture_output=True, text=True, check=True).stdout
        rounds = {}
        for row in json.loads(text)["benchmarks"]:
            if row["run_type"] != "iteration":
                continue
            if row.get("error_occurred"):
                sys.exit(f"host.py: {name}: {row['name']}: {row['error_message']}")
            rounds.setdefault(row["name"], []).append(row)
        for benchmark, rows in rounds.items():
            times = [row["cpu_time"] for row in rows]
            print(f"{benchmark:<50} {statistics.median(times):>12.3f} {rows[0]['time_unit']} ({min(times):.3f} to {max(times):.3f})"
                  + per_item([row["items_per_second"] for row in rows if "items_per_second" in row]))
            for number, row in enumerate(rows):
                samples.append((benchmark, number, row["iterations"], row["cpu_time"], row["real_time"],
                                row.get("items_per_second", "")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build"))
    parser.add_argument("--out", default=os.path.join(HERE, "results"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kernels", default="1000000,10000000")
    parser.add_argument("--only", default="analyze,json,parts")
    options = parser.parse_args()
    only = options.only.split(",")
    os.makedirs(options.out, exist_ok=True)
    samples = []
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        if "analyze" in only:
            missed = analyze(options, folder, samples)
        if "json" in only:
            compare_json(options, folder, samples)
        if "parts" in only:
            parts(options, samples)
    with open(os.path.join(options.out, "host.tsv"), "w") as table:
        table.write("# part\tround\tkernels or iterations\tuser s or cpu time\twall s or real time\tpeak bytes or items per s\n")
        for sample in samples:
            table.write("\t".join(str(value) for value in sample) + "\n")
    return 1 if missed else 0


sys.exit(main())
