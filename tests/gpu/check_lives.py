"""Runs each scenario of gx-host-lives alone and under gpuexec, with timings and with counters, and compares.

  check_lives.py --program FILE --inject FILE --scratch DIR [--analyze FILE] [--only NAME,NAME] [--seconds N]

Compared: how the program ends, its standard output and error, and by its state file (host_lives_state.h) working directory,
signals, limits, variables and open files at its end. Of each trace: that its end is the scenario's, and that every launch which
CUDA took is in it with its kernel, or is counted as lost, unfinished or taken by another client. --analyze: that gx-analyze
counts likewise, and exits with 1 where something is missing. One program at a time; what is not tried after N seconds (default
170) is a failure. --label TEXT goes before each row, --rows FILE also gets the rows. Left in DIR: NAME.TIER.out, .err, .state and
traces/NAME.TIER.PID.pb.
"""

import argparse
import json
import subprocess
import sys
import time

import check_trace
import lives
import rows as rows_module
import trace_file

NS_PER_S = 1_000_000_000
# No more than what the program did in its last second may be missing where nothing of ours runs at its end.
LOST_SPAN_NS = NS_PER_S
# A gap begins with the first launch after the last record had come. Records come at the next of two flushes a second: a client
# that takes them gets those of before, too; where they are switched off, those of before come once more.
GAP_BEFORE_NS = GAP_AFTER_NS = NS_PER_S
# Records that come again are seen at the next flush but one.
GAP_END_NS = 2 * NS_PER_S

STAT_SUBSCRIBE_REFUSED, STAT_RECORD_GAPS = 84, 89
# STAT_KERNELS_UNFINISHED, STAT_FINAL_FLUSH_TIMED_OUT, STAT_LAUNCHES_IN_FLIGHT_AT_EXIT
STATS_STILL_RUNNING = (27, 36, 37)


# ------------------------------------------------------------------------------------------------------------ the program


def differences(bare, under):
    """Up to three lines that one has and the other has not; "none" if there are none."""
    texts = [f"not with gpuexec: {line}" for line in bare if line not in under]
    texts += [f"with gpuexec: {line}" for line in under if line not in bare]
    if not texts and sorted(bare) != sorted(under):
        texts = ["lines that are there more than once"]
    more = f" and {len(texts) - 3} more" if len(texts) > 3 else ""
    return "; ".join(text[:120] for text in texts[:3]) + more if texts else "none"


def check_program(rows, label, life, outcomes):
    """`outcomes`: {tier: outcome}, the first one without gpuexec."""
    bare, *under = outcomes.values()
    ends = tuple(outcome.end for outcome in outcomes.values())
    rows.equal(f"{label}: end {' and '.join(outcomes)}", (life.end,) * len(ends), ends)
    for what, key in (("output", "out"), ("error", "err")):
        texts = {tier: getattr(outcome, key) for tier, outcome in outcomes.items()}
        differing = [tier for tier, text in texts.items() if text != getattr(bare, key)]
        # Nothing compared is no comparison.
        got = f"differs: {', '.join(differing)}" if differing else "empty" if key == "out" and not bare.out else "byte-identical"
        rows.equal(f"{label}: standard {what}", "byte-identical", got)
    for tier, outcome in list(outcomes.items())[1:]:
        got = differences(bare.state.process(), outcome.state.process()) if bare.state.process() else "no state was written"
        rows.equal(f"{label}: {tier}: folder, signals, limits, variables at its end: differences", "none", got)
        got = differences(bare.state.files(), outcome.state.files())
        rows.equal(f"{label}: {tier}: open files at its end: differences", "none", got)
    counts = [len(outcome.state.descriptors()) for outcome in (bare, *under)]
    rows.add(f"{label}: seconds; descriptors with those of driver and tools", "-",
             f"{', '.join(f'{outcome.seconds:.1f}' for outcome in outcomes.values())} s; {', '.join(map(str, counts))}", True)


# -------------------------------------------------------------------------------------------------------------- the trace


def launches_of_last_second(state):
    """What was launched in it, by the program's own marks; the last mark is its end."""
    marks = state.marks()
    if not marks:
        return 0
    end_ns, made = marks[-1]
    older = [count for time_ns, count in marks if time_ns <= end_ns - LOST_SPAN_NS]
    return made - (older[-1] if older else 0)


def losses_of(trace, may_lose=()):
    names = check_trace.loss_stats()
    return [f"{names[number]}={value}" for number, value in sorted(trace.stats.items())
            if number in names and value and names[number] not in may_lose]


def end_of_trace(trace):
    if not trace.complete:
        return "cut"
    return trace.end_reason if trace.orderly_end else "no trailer"


def check_launches(rows, label, life, outcome, trace):
    made = 0 if life.records_nothing else outcome.said_once("launches")
    allowed = launches_of_last_second(outcome.state) if life.trace_end == "" else 0
    # Of a program that launched nothing, or nothing that had to be kept, nothing would be seen.
    some = made + outcome.said_once("graph_launches") > allowed or life.records_nothing
    rows.add(f"{label}: launches not in the trace, of {made}", f"0 to {allowed}" if allowed else 0, made - trace.launch_count,
             some and 0 <= made - trace.launch_count <= allowed)
    refused = 0 if life.records_nothing else outcome.said_once("refused")
    # The runtime may refuse a launch by itself, and then the driver never sees it.
    least = 1 if refused and not life.faulty else 0
    rows.add(f"{label}: refused launches in the trace", f"{least} to {refused}", trace.refused_launches,
             least <= trace.refused_launches <= refused)
    graphs = (outcome.said_once("graph_launches"), outcome.said_once("graph_kernels"))
    if graphs != (0, 0):
        rows.equal(f"{label}: graph launches", graphs[0], trace.graph_launches)
        # In windows of counters graph launches have no kernels' records.
        windows = bool(trace.launches_in_counter_windows)
        bar = f"{graphs[1]}{', fewer with counter windows' if windows else ''}"
        rows.add(f"{label}: kernels of graphs", bar, trace.graph_kernels,
                 trace.graph_kernels == graphs[1] or (windows and trace.graph_kernels < graphs[1]))
    return allowed


def check_kernels(rows, label, life, outcome, trace, recent):
    """`recent`: launches of the last second, whose kernels may be missing."""
    lacking = trace.launches_without_kernel
    running = outcome.said_once("running")
    told = sum(trace.stats.get(number, 0) for number in STATS_STILL_RUNNING)
    taken = sum(gap.kernel_count for gap in trace.record_gaps.values())
    if life.faulty:
        bar, good = "-, told by gx-analyze", True
    elif life.trace_end == "":
        bar, good = f"0 to {recent}", lacking <= recent
    elif life.gap_ends == "never":
        bar, good = f"those of the gap: {taken}", lacking == taken
    elif life.gap_ends:
        # A gap that ends counts kernels, too, whose records were still to come.
        bar, good = f"at most those of the gap: {taken}", 0 < lacking <= taken
    else:
        most = running if told else 0
        bar, good = f"0 to {most}, told as still running" if most else "0", lacking <= most
    rows.add(f"{label}: launches without a kernel, outside windows of counters", bar, lacking, good)
    odd = (trace.untimed - trace.unfinished, trace.kernels_without_launch, trace.launches_differing)
    # The kernel at fault may have no times.
    rows.add(f"{label}: kernels without times that had ended, without a launch, of another shape", ("-" if life.faulty else 0, 0, 0), odd,
             odd[1:] == (0, 0) and (life.faulty or odd[0] == 0))


def check_trace_of(rows, label, life, outcome, trace):
    rows.equal(f"{label}: end of the trace", life.trace_end or "no trailer", end_of_trace(trace))
    rows.equal(f"{label}: losses and faults", "none", " ".join(losses_of(trace, life.may_lose)) or "none")
    recent = check_launches(rows, label, life, outcome, trace)
    check_kernels(rows, label, life, outcome, trace, recent)
    if life.records_nothing:
        # inject/README.md: who holds the subscription is named.
        named = [text for text in trace.diagnostics if "gx-host-lives" in text]
        rows.add(f"{label}: the other subscriber is counted and named", "1, gx-host-lives",
                 f"{trace.stats.get(STAT_SUBSCRIBE_REFUSED, 0)}, {(named or trace.diagnostics or ['nothing said'])[0][:160]}",
                 trace.stats.get(STAT_SUBSCRIBE_REFUSED, 0) == 1 and bool(named))


def check_gap(rows, label, life, outcome, trace):
    """What inject/README.md promises of a client that takes the records."""
    gaps = list(trace.record_gaps.values())
    rows.equal(f"{label}: gaps in the trace, and counted", (1, 1), (len(gaps), trace.stats.get(STAT_RECORD_GAPS, 0)))
    if not gaps:
        return
    gap, taken_ns = gaps[0], outcome.state.time_of("taken")
    if taken_ns is None:
        raise ValueError("the program did not say when it took the records")
    begin_ns = gap.begin_ns - taken_ns
    bar = f"{-GAP_BEFORE_NS / NS_PER_S:+.1f} s to {GAP_AFTER_NS / NS_PER_S:+.1f} s"
    rows.add(f"{label}: the gap begins, after the client came", bar, f"{begin_ns / NS_PER_S:+.2f} s",
             -GAP_BEFORE_NS <= begin_ns <= GAP_AFTER_NS)
    given_back_ns = outcome.state.time_of("given_back")
    if life.gap_ends == "never" or given_back_ns is None or gap.end_ns is None:
        rows.equal(f"{label}: the gap ends", life.gap_ends, "never" if gap.end_ns is None else "before the program")
    else:
        end_ns = gap.end_ns - given_back_ns
        rows.add(f"{label}: the gap ends, after records were given back", f"0 s to {GAP_END_NS / NS_PER_S:.1f} s",
                 f"{end_ns / NS_PER_S:.2f} s", 0 <= end_ns <= GAP_END_NS)
    spoken_of = any("another CUPTI client" in text for text in trace.diagnostics)
    rows.equal(f"{label}: the client is spoken of", "yes", "yes" if spoken_of else "no")
    # It looks the function up at run time: no file imports it.
    rows.add(f"{label}: files named as clients", "-", ", ".join(gap.clients) or "none", True)


def check_client(rows, label, bare, outcome):
    """That the other client gets what it gets without us; in whose buffers, as a figure."""
    got = [(of.state.number("client_records"), of.state.number("client_foreign_buffers"), of.state.number("client_foreign_records"))
           for of in (bare, outcome)]
    if got[0][0] is None:
        return
    alone, own, foreign_buffers, foreign = got[0][0], *[number or 0 for number in got[1]]
    rows.add(f"{label}: kernel records that the client gets", f">= {alone}, as without gpuexec",
             f"{own} in its own buffers, {foreign} in {foreign_buffers} of gpuexec's", own + foreign >= alone)


def analysed(analyze, path):
    """(exit code, sums of the accounting of all processes)."""
    command = [analyze, "--no-report", "--format", "json", "--top", "0", path]
    done = subprocess.run(command, capture_output=True, timeout=lives.LIMIT_S, check=False)
    sums = {}
    for process in json.loads(done.stdout or b"{}").get("process", []):
        for name, value in process.get("accounting", {}).items():
            sums[name] = sums.get(name, 0) + int(value)
    return done.returncode, sums


def check_analysis(rows, label, life, trace, code, sums):
    expected = (trace.launch_count, trace.launches_without_kernel)
    got = (sums.get("launch_count", 0), sums.get("launches_without_kernel_count", 0))
    rows.equal(f"{label}: launches, those without a kernel, by gx-analyze", expected, got)
    missing = trace.launches_without_kernel > 0 or bool(losses_of(trace)) or not trace.complete
    # Without a trailer it may find something missing that nobody else knows of.
    allowed = (1,) if missing else (0, 1) if life.trace_end == "" else (0,)
    rows.add(f"{label}: gx-analyze ends with 1 where something is missing", " or ".join(map(str, allowed)), code, code in allowed)


def check_children(rows, label, life, outcome, traces):
    """A trace each of the program and of every program that it started."""
    expected = sorted(outcome.said("launches_of_child") + [outcome.said_once("launches")])
    rows.equal(f"{label}: launches in each trace", expected, sorted(trace.launch_count for trace in traces))
    for trace in traces:
        rows.equal(f"{label}: end, losses, launches without a kernel of each", ("exit", "none", 0),
                   (end_of_trace(trace), " ".join(losses_of(trace, life.may_lose)) or "none", trace.launches_without_kernel))


def check_tier(rows, label, life, tier, bare, outcome, paths, analyze):
    children = len(outcome.said("launches_of_child"))
    expected = 0 if life.trace_end is None else 1 + children
    rows.equal(f"{label}: trace files", expected, len(paths))
    if len(paths) != expected or expected == 0:
        return
    traces = [trace_file.read(path) for path in paths]
    if children:
        check_children(rows, label, life, outcome, traces)
        return
    trace = traces[0]
    check_trace_of(rows, label, life, outcome, trace)
    # With counters, windows of ours may end a gap: then the accounts alone count.
    if life.gap_ends and tier == "timing":
        check_gap(rows, label, life, outcome, trace)
        check_client(rows, label, bare, outcome)
    if analyze:
        check_analysis(rows, label, life, trace, *analysed(analyze, paths[0]))


def check_life(rows, label, name, runner, analyze):
    life = lives.LIVES[name]
    outcomes = {tier: runner.run(name, tier) for tier in (lives.BARE,) + life.tiers}
    if all(outcome.skipped for outcome in outcomes.values()):
        rows.add(f"{label}: skipped by the program", "-", outcomes[lives.BARE].out.decode("utf-8", "replace").splitlines()[0], True)
        return
    check_program(rows, label, life, outcomes)
    for tier in life.tiers:
        try:
            paths = runner.trace_paths(name, tier)
            check_tier(rows, f"{label}: {tier}", life, tier, outcomes[lives.BARE], outcomes[tier], paths, analyze)
        except (OSError, ValueError, KeyError, trace_file.DamagedTrace, subprocess.TimeoutExpired) as error:
            rows.add(f"{label}: {tier}: trace", "a comparison", f"{type(error).__name__}: {error}", False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--program", "--inject", "--scratch"):
        parser.add_argument(option, required=True)
    parser.add_argument("--analyze")
    parser.add_argument("--only", default=",".join(lives.LIVES))
    parser.add_argument("--seconds", type=float, default=170)
    parser.add_argument("--label", default="life")
    parser.add_argument("--rows", metavar="FILE")
    arguments = parser.parse_args()
    names = arguments.only.split(",")
    unknown = [name for name in names if name not in lives.LIVES]
    if unknown:
        parser.error(f"--only: no scenario {', '.join(unknown)}; there are {', '.join(lives.LIVES)}")
    rows, begin = rows_module.Rows(arguments.rows), time.monotonic()
    runner = lives.Runner(arguments.program, arguments.inject, arguments.scratch)
    for name in names:
        label = f"{arguments.label} {name}"
        if time.monotonic() - begin > arguments.seconds:
            rows.add(f"{label}: tried", "yes", f"no: {arguments.seconds:.0f} s are over", False)
            continue
        try:
            check_life(rows, label, name, runner, arguments.analyze)
        except OSError as error:
            rows.add(f"{label}: runs", "yes", f"{type(error).__name__}: {error}", False)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())
