#!/usr/bin/env python3
"""Stands for gx-host-lives on machines without a GPU, so that check_lives.py can be tried there.

  lives_on_fakes.py SCENARIO [STATE]      with GX_FAKES: the folder that holds gx_fake_host and lib/

The host program of tests/fakes does what comes closest, under the same variables; what the scenario says of itself is said here.
Times are not its own: launches count as older than a second, and a client as come with the first launch.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time

NS_PER_S = 1_000_000_000
# Scenario -> (words of the fake host, what it says besides its launches, its own end, variables).
SCENARIOS = {
    "plain": ("launch n=200", {}, 0, {}),
    "illegal_access": ("broken sync=0", {}, 0, {}),
    "illegal_access_at_end": ("broken sync=0", {}, 0, {}),
    "out_of_memory": ("full", {}, 0, {"FAKE_FAIL": "cuMemAlloc_v2=2"}),
    "refused_launches": ("failing", {}, 0, {}),
    "exit_while_running": ("launch n=40 kernel_us=2000 sync=0", {"running": 40}, 0, {}),
    "underscore_exit_while_running": ("launch n=40 sync=0 sleep_ms=1500 exit=_exit", {"running": 40}, 5, {}),
    "exit_while_running_for_ever": ("launch n=3 kernel_us=4000000 sync=0", {"running": 3}, 0, {}),
    "abort": ("launch n=200 sleep_ms=1500 exit=abort", {}, -signal.SIGABRT, {}),
    "sigterm": ("launch n=200 sleep_ms=1500 exit=term", {}, -signal.SIGTERM, {}),
    "exception": ("launch n=200 sleep_ms=1500 exit=throw", {}, -signal.SIGABRT, {}),
    "sigterm_handled": ("launch n=200", {}, 0, {}),
    "threads64": ("launch n=100 threads=64", {}, 0, {}),
    "fork_exec": ("children how=exec child=cuda", {"launches_of_child": 5}, 0, {}),
    "spawn": ("children how=spawn child=cuda", {"launches_of_child": 5}, 0, {}),
    "fork_idle_child": ("fork when=after child=idle", {}, 0, {}),
    "reset_and_reuse": ("again resets=3", {}, 0, {}),
    "streams_events_graph": ("graph nodes=20 replays=100", {"graph_launches": 100, "graph_kernels": 2000}, 0, {}),
    "no_cuda": (None, {}, 0, {}),
    "another_subscriber_first": ("launch n=50", {}, 0, {"FAKE_CUPTI_SUBSCRIBER": "gx-host-lives"}),
    "client_takes_buffers": ("takeover n=10 rounds=150", {}, 0, {}),
    # After a little more than 3 s the records are given back.
    "client_switches_records_off": ("takeover how=kinds n=10 rounds=150", {}, 0, {}),
    "client_gives_back": ("takeover how=kinds back=1 n=10 rounds=150", {}, 0, {}),
    "client_at_the_end": ("takeover n=10", {}, 0, {}),
}


def count_launches(path, own):
    """(taken, refused), of the fake GPU's log; `own`: of a program with children, what is not theirs."""
    taken = refused = 0
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith("launch ") and " captured=0 " in line:
                    taken += " result=0 " in line
                    refused += " result=0 " not in line
    return taken - own, refused


def run_fake_host(words, more, log):
    """Its exit code, and when it began."""
    folder = os.environ["GX_FAKES"]
    library = os.path.join(folder, "lib")
    words = words.split()
    if words[0] == "takeover":
        words.append("cupti=" + os.path.join(library, "libcupti.so.13"))
    environment = {**os.environ, **more, "LD_LIBRARY_PATH": library, "FAKE_GPU_LOG": log}
    began_ns = time.monotonic_ns()
    done = subprocess.run([os.path.join(folder, "gx_fake_host"), *words], env=environment, capture_output=True, check=False)
    return done.returncode, began_ns


def write_state(path, launches, began_ns):
    folder = "/proc/self/fd"
    with open(path, "w", encoding="utf-8") as file:
        print("client_records 10\nclient_foreign_buffers 0\nclient_foreign_records 0", file=file)
        print(f"taken\nmark {began_ns} {launches}", file=file)
        print(f"given_back\nmark {began_ns + 3 * NS_PER_S} {launches}", file=file)
        print(f"mark {time.monotonic_ns() - 2 * NS_PER_S} {launches}\nmark {time.monotonic_ns()} {launches}", file=file)
        print(f"folder {os.getcwd()}\nhandled\nblocked\nlimit 1", file=file)
        for number in sorted(os.listdir(folder), key=int):
            if int(number) != file.fileno() and os.path.exists(f"{folder}/{number}"):
                print(f"file {number} own {os.readlink(f'{folder}/{number}')}", file=file)


def main():
    name = sys.argv[1]
    words, says, end, more = SCENARIOS[name]
    launches = refused = 0
    began_ns = time.monotonic_ns()
    with tempfile.TemporaryDirectory() as folder:
        if words is not None:
            log = os.path.join(folder, "gpu.log")
            code, began_ns = run_fake_host(words, more, log)
            if code != end:
                print(f"lives_on_fakes: the fake host ended with {code}, not {end}", file=sys.stderr)
            launches, refused = count_launches(log, says.get("launches_of_child", 0))
            # The one that the failed device refused is in no log.
            refused += words.startswith("broken")
    print("sum 1")
    for key, value in says.items():
        print(key, value)
    print("launches", launches)
    print("refused", refused, flush=True)
    if len(sys.argv) > 2:
        write_state(sys.argv[2], launches, began_ns)
    if end < 0:
        signal.signal(-end, signal.SIG_DFL)
        os.kill(os.getpid(), -end)
    os._exit(end)


if __name__ == "__main__":
    main()
