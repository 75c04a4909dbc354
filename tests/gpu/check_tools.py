"""gx-run and gx-doctor on a GPU, and the demo kernels under compute-sanitizer.

  check_tools.py --bin DIR --scratch DIR [--seconds N] [--label TEXT] [--rows FILE]

--bin holds gx-run, gx-doctor, gx-analyze, gx-kernels, gx-thread-storm and libgpuexec_inject.so. Programs under gx-run must
end and say what they do without it; where it says that something was recorded, gx-analyze must agree. compute-sanitizer must
find no error in gx-kernels, whose refused launches are intended: its report of API errors is off.
"""

import argparse
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import rows as rows_module

HERE = os.path.dirname(os.path.abspath(__file__))
KILLS_ITSELF = ("import os, time, torch\n"
                "x = torch.ones(8, device='cuda')\n"
                "for _ in range(2999): x = x + 1\n"
                "torch.cuda.synchronize()\ntime.sleep(2)\nos.kill(os.getpid(), 9)\n")
SANITIZERS = ("memcheck", "initcheck", "synccheck", "racecheck")
# racecheck follows every access to shared memory: two orders of magnitude slower, so of the cases that use it.
RACECHECK_CASES = "sgemm_tiled,cooperative,cluster,occupancy_mix"


class Tools:
    def __init__(self, folder, scratch):
        self.folder, self.scratch = os.path.abspath(folder), scratch
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("GPUEXEC_") and name != "CUDA_INJECTION64_PATH"}

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, command, limit_s=120):
        return subprocess.run(command, env=self.environment, capture_output=True, timeout=limit_s, check=False)

    def under_gx_run(self, trace, command, options=(), limit_s=120):
        return self.run([self.path("gx-run"), "-o", os.path.join(self.scratch, trace), *options, "--", *command], limit_s)

    def report(self, path):
        """(exit code, JSON) of gx-analyze."""
        done = self.run([self.path("gx-analyze"), "--no-report", "--format", "json", path])
        return done.returncode, json.loads(done.stdout or b"{}")


def launches(report):
    return sum(int(process.get("accounting", {}).get("launch_count", 0)) for process in report.get("process", []))


def check_doctor(tools, rows, label):
    text = tools.run([tools.path("gx-doctor")])
    said = json.loads(tools.run([tools.path("gx-doctor"), "--json"]).stdout)
    levels = {check.get("check"): check.get("level") for check in said.get("checks", [])}
    rows.equal(f"{label}: gx-doctor, exit code", 0, text.returncode)
    rows.add(f"{label}: gx-doctor, checks that are neither ok nor n/a", "none",
             ", ".join(name for name, level in levels.items() if level not in ("ok", "n/a")) or f"none of {len(levels)}",
             bool(levels) and all(level in ("ok", "n/a") for level in levels.values()))
    with open(os.path.join(tools.scratch, "gx_doctor.txt"), "wb") as file:
        file.write(text.stdout)


def check_run(tools, rows, label):
    kernels = tools.path("gx-kernels")
    bare, under = tools.run([kernels]), tools.under_gx_run("kernels.pb", [kernels])
    rows.equal(f"{label}: gx-run gx-kernels, exit code and stdout", True,
               (bare.returncode, bare.stdout) == (under.returncode, under.stdout))
    code, report = tools.report(os.path.join(tools.scratch, "kernels.pb"))
    rows.add(f"{label}: gx-run gx-kernels, launches in the trace", "> 200,000", launches(report), code == 0 and launches(report) > 200_000)
    rows.equal(f"{label}: gx-run says what was recorded", True, b"recorded to" in under.stderr and b"RUN" in under.stderr)
    quiet = tools.under_gx_run("quiet.pb", [kernels, "--case", "axpy"], ["--quiet"])
    rows.equal(f"{label}: gx-run --quiet says nothing", b"", quiet.stderr)
    nothing = tools.under_gx_run("nothing.pb", ["true"])
    rows.equal(f"{label}: gx-run true, exit code", 0, nothing.returncode)
    rows.equal(f"{label}: gx-run true says why nothing was recorded", True, b"no process of the run used CUDA" in nothing.stderr)


def check_torch(tools, rows, label):
    children = tools.under_gx_run("children_%p.pb", [sys.executable, os.path.join(HERE, "scenarios.py"), "children"])
    traces = glob.glob(os.path.join(glob.escape(tools.scratch), "children_*.pb"))
    rows.equal(f"{label}: gx-run of a program with children, exit code", 0, children.returncode)
    rows.equal(f"{label}: gx-run lists each of their traces", True,
               len(traces) > 1 and all(os.path.basename(trace).encode() in children.stderr for trace in traces))
    killed = tools.under_gx_run("killed.pb", [sys.executable, "-c", KILLS_ITSELF])
    rows.equal(f"{label}: gx-run of a program that is killed ends by the same signal", -signal.SIGKILL, killed.returncode)
    _, report = tools.report(os.path.join(tools.scratch, "killed.pb"))
    rows.equal(f"{label}: launches before its last second", 3000, launches(report))


def check_interrupt(tools, rows, label):
    trace = os.path.join(tools.scratch, "interrupted.pb")
    program = "import time, torch\nx = torch.ones(8, device='cuda')\ntry:\n  while True: x = x + 1\nexcept KeyboardInterrupt: print('stopped')\n"
    process = subprocess.Popen([tools.path("gx-run"), "-o", trace, "--", sys.executable, "-c", program],
                               env=tools.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(15)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    rows.equal(f"{label}: gx-run interrupted: the program's own way to end", (0, b"stopped\n"), (process.returncode, out))
    code, report = tools.report(trace)
    rows.add(f"{label}: gx-run interrupted: a good trace, launches", "> 1,000", launches(report), code == 0 and launches(report) > 1000)


def check_sanitizers(tools, rows, label, seconds):
    sanitizer = shutil.which("compute-sanitizer") or next(iter(sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer"))), None)
    if sanitizer is None:
        rows.add(f"{label}: compute-sanitizer", "is there", "not found", False)
        return
    for tool in SANITIZERS:
        command = [sanitizer, "--tool", tool, "--error-exitcode", "9"] + (["--report-api-errors", "no"] if tool == "memcheck" else [])
        command += [tools.path("gx-kernels")] + (["--case", RACECHECK_CASES] if tool == "racecheck" else [])
        try:
            done = tools.run(command, seconds)
            summary = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (.*)", done.stdout.decode(errors="replace"))
            rows.add(f"{label}: compute-sanitizer {tool} of gx-kernels", "exit code 0", f"{done.returncode}, {'; '.join(summary)}",
                     done.returncode == 0 and bool(summary))
        except subprocess.TimeoutExpired:
            rows.add(f"{label}: compute-sanitizer {tool} of gx-kernels", "exit code 0", f"not done after {seconds} s", False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--seconds", type=int, default=120, help="for each tool of compute-sanitizer")
    parser.add_argument("--label", default="tools")
    parser.add_argument("--rows", metavar="FILE")
    arguments = parser.parse_args()
    rows = rows_module.Rows(arguments.rows)
    tools = Tools(arguments.bin, arguments.scratch)
    for check in (check_doctor, check_run, check_torch, check_interrupt):
        try:
            check(tools, rows, arguments.label)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            rows.add(f"{arguments.label}: {check.__name__}", "ends", f"{type(error).__name__}: {error}", False)
    check_sanitizers(tools, rows, arguments.label, arguments.seconds)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())
