"""Tests of what part x of tools/device_test makes of programs and traces, without a GPU."""

import contextlib
import dataclasses
import io
import os
import re
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
import check_lives
import lives
import lives_on_fakes
import rows as rows_module
import trace_file

SECOND = check_lives.NS_PER_S
STATE = ("taken\nmark 5000000000 10\nfolder /there\nhandled 15+\nvariable A 0f\nfile 0 inherited /dev/null\nfile 1 inherited pipe:[77]\n"
         "file 5 own /there/data\nfile 6 own /dev/nvidia0\nfile 7 own anon_inode:[eventfd]\nfile 201 own /there/trace.pb\n"
         "client_records 60\nmark 6000000000 20\n")


def outcome(out=b"launches 10\nrefused 0\n", end="exit code 0", state=STATE, err=b""):
    return lives.Outcome(out, err, end, 0.5, lives.State(state))


def trace(launches=10, **fields):
    made = trace_file.Trace(orderly_end=True, end_reason="exit", unknown_launches=launches)
    return dataclasses.replace(made, **fields)


class LivesTest(unittest.TestCase):
    def refused(self, check, *arguments):
        """The rows that are not ok, by their names behind the label."""
        rows = rows_module.Rows()
        check(rows, "l", *arguments)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            rows.finish()
        found = [line.split(" | ")[0].strip() for line in out.getvalue().splitlines() if line.endswith("| NO")]
        return [name.split(": ", 1)[1] for name in found]

    def test_the_scenarios_are_those_of_the_program_and_of_its_stand_in(self):
        with open(os.path.join(FOLDER, "host_lives.cu"), encoding="utf-8") as file:
            text = file.read()
        in_program = re.findall(r'^    \{"(\w+)", \w+\},$', text, re.MULTILINE)
        self.assertEqual(in_program, list(lives.LIVES))
        self.assertEqual(list(lives_on_fakes.SCENARIOS), in_program)
        usage = re.findall(r"^//   ([a-z0-9_, ]+?)   +\S", text, re.MULTILINE)
        self.assertEqual(sorted(name for line in usage for name in line.split(", ")), sorted(in_program))

    def test_losses_that_a_scenario_may_bring_about_exist(self):
        names = set(check_lives.check_trace.loss_stats().values())
        for name, life in lives.LIVES.items():
            self.assertLessEqual(set(life.may_lose), names, name)

    def test_ends_are_told_by_code_or_signal(self):
        self.assertEqual([lives.end_of(code) for code in (0, 5, -6, -15, -99)],
                         ["exit code 0", "exit code 5", "SIGABRT", "SIGTERM", "signal 99"])

    def test_a_state_file_is_read(self):
        state = lives.State(STATE)
        self.assertEqual((state.number("client_records"), state.number("nothing")), (60, None))
        self.assertEqual((state.time_of("taken"), state.time_of("folder /there")), (5 * SECOND, None))
        self.assertEqual(state.process(), ["folder /there", "handled 15+", "variable A 0f"])
        self.assertEqual(lives.State("").marks(), [])

    def test_open_files_are_the_programs_own_and_what_children_inherit(self):
        self.assertEqual(lives.State(STATE).files(), ["0 /dev/null", "1 pipe", "own /there/data"])
        leaked = lives.State(STATE.replace("file 201 own", "file 201 inherited"))
        self.assertIn("inherited /there/trace.pb", leaked.files())
        low = lives.State(STATE.replace("file 201 own", "file 8 own"))
        self.assertEqual(low.files()[-1], "own /there/trace.pb")

    def test_numbers_that_a_program_says(self):
        said = outcome(b"launches 200\nlaunches_of_child 200\nlaunches 30\nlaunches many\n")
        self.assertEqual((said.said("launches"), said.said_once("launches"), said.said_once("running")), ([200, 30], 30, 0))

    def test_a_program_that_is_the_same_is_ok_and_each_difference_is_not(self):
        life = lives.Life()
        self.assertEqual(self.refused(check_lives.check_program, life, {"bare": outcome(), "core": outcome()}), [])
        changed = {
            "end bare and core": outcome(end="SIGSEGV"),
            "standard output": outcome(out=b"launches 10\nrefused 1\n"),
            "standard error": outcome(err=b"gpuexec\n"),
            "core: folder, signals, limits, variables at its end: differences": outcome(state=STATE.replace("15+", "")),
            "core: open files at its end: differences": outcome(state=STATE.replace("file 201 own", "file 3 own")),
        }
        for row, under in changed.items():
            self.assertEqual(self.refused(check_lives.check_program, life, {"bare": outcome(), "core": under}), [row])

    def test_what_the_program_does_wrong_by_itself_is_not_ok_either(self):
        life = lives.Life("SIGTERM")
        self.assertEqual(self.refused(check_lives.check_program, life, {"bare": outcome(), "core": outcome()}), ["end bare and core"])
        silent = outcome(b"", "SIGTERM", "")
        self.assertEqual(self.refused(check_lives.check_program, life, {"bare": silent, "core": silent}),
                         ["standard output", "core: folder, signals, limits, variables at its end: differences"])

    def test_differences_are_named(self):
        self.assertEqual(check_lives.differences(["a", "b"], ["b", "c"]), "not with gpuexec: a; with gpuexec: c")
        self.assertEqual(check_lives.differences(["a"], ["a", "a"]), "lines that are there more than once")
        self.assertIn("and 2 more", check_lives.differences([], ["a", "b", "c", "d", "e"]))

    def test_a_launch_that_is_missing_is_not_ok_unless_of_a_killed_programs_last_second(self):
        self.assertEqual(self.refused(check_lives.check_launches, lives.Life(), outcome(), trace()), [])
        for launches in (9, 11):
            self.assertEqual(self.refused(check_lives.check_launches, lives.Life(), outcome(), trace(launches)),
                             ["launches not in the trace, of 10"])
        killed, marks = lives.Life("SIGABRT", ""), "mark 1000000000 4\nmark 1900000000 7\nmark 2500000000 10\n"
        self.assertEqual(check_lives.launches_of_last_second(lives.State(marks)), 6)
        for launches, wrong in ((10, 0), (4, 0), (3, 1)):
            self.assertEqual(len(self.refused(check_lives.check_launches, killed, outcome(state=marks), trace(launches))), wrong)
        nothing_older = outcome(state="mark 2400000000 0\nmark 2500000000 10\n")
        self.assertEqual(len(self.refused(check_lives.check_launches, killed, nothing_older, trace(10))), 1)
        self.assertEqual(len(self.refused(check_lives.check_launches, lives.Life(), outcome(b"launches 0\n"), trace(0))), 1)
        # Without a mark nothing may be missing.
        self.assertEqual(len(self.refused(check_lives.check_launches, killed, outcome(state=""), trace(9))), 1)

    def test_refused_launches_are_seen_but_for_those_that_the_runtime_refuses(self):
        said = outcome(b"launches 10\nrefused 4\n")
        for seen, wrong in ((0, 1), (1, 0), (4, 0), (5, 1)):
            found = self.refused(check_lives.check_launches, lives.Life(), said, trace(refused_launches=seen))
            self.assertEqual(len(found), wrong, seen)
        self.assertEqual(self.refused(check_lives.check_launches, lives.Life(faulty=True), said, trace()), [])

    def test_every_kernel_of_every_replay_is_there_unless_counters_were_taken(self):
        said = outcome(b"graph_launches 5\ngraph_kernels 40\nlaunches 10\nrefused 0\n")
        whole = trace(graph_launches=5, graph_kernels=40)
        self.assertEqual(self.refused(check_lives.check_launches, lives.Life(), said, whole), [])
        fewer = dataclasses.replace(whole, graph_kernels=32)
        self.assertEqual(self.refused(check_lives.check_launches, lives.Life(), said, fewer), ["kernels of graphs"])
        counted = dataclasses.replace(fewer, launches_in_counter_windows=3)
        self.assertEqual(self.refused(check_lives.check_launches, lives.Life(), said, counted), [])

    def test_a_launch_without_a_kernel_has_to_be_told(self):
        lacking = "launches without a kernel, outside windows of counters"
        two = trace(launches_without_kernel=2)
        check = check_lives.check_kernels
        self.assertEqual(self.refused(check, lives.Life(), outcome(), trace(), 0), [])
        self.assertEqual(self.refused(check, lives.Life(), outcome(), two, 0), [lacking])
        running = outcome(b"running 2\nlaunches 10\n")
        self.assertEqual(self.refused(check, lives.Life(), running, two, 0), [lacking])
        self.assertEqual(self.refused(check, lives.Life(), running, dataclasses.replace(two, stats={37: 1}), 0), [])
        self.assertEqual(self.refused(check, lives.Life(), outcome(), dataclasses.replace(two, stats={37: 1}), 0), [lacking])
        self.assertEqual(self.refused(check, lives.Life("SIGABRT", ""), outcome(), two, 2), [])
        self.assertEqual(self.refused(check, lives.Life("SIGABRT", ""), outcome(), two, 1), [lacking])
        self.assertEqual(self.refused(check, lives.Life(faulty=True), outcome(), two, 0), [])

    def test_kernels_that_a_client_took_are_those_of_its_gap(self):
        for ends, count, wrong in (("never", 2, 0), ("never", 1, 1), ("never", 3, 1), ("given_back", 1, 1), ("given_back", 3, 0)):
            gap = trace_file.RecordGap(0, None, count, [])
            two = trace(launches_without_kernel=2, record_gaps={1: gap})
            found = self.refused(check_lives.check_kernels, lives.Life(gap_ends=ends), outcome(), two, 0)
            self.assertEqual(len(found), wrong, (ends, count))

    def test_kernels_without_times_are_told_as_unfinished_or_of_the_kernel_at_fault(self):
        odd = "kernels without times that had ended, without a launch, of another shape"
        check = check_lives.check_kernels
        self.assertEqual(self.refused(check, lives.Life(), outcome(), trace(untimed=1, unfinished=1), 0), [])
        self.assertEqual(self.refused(check, lives.Life(), outcome(), trace(untimed=1), 0), [odd])
        self.assertEqual(self.refused(check, lives.Life(faulty=True), outcome(), trace(untimed=1), 0), [])
        self.assertEqual(self.refused(check, lives.Life(faulty=True), outcome(), trace(kernels_without_launch=1), 0), [odd])

    def test_a_trace_ends_as_its_program_does(self):
        ends = {"exit": trace(), "no trailer": trace(orderly_end=False, end_reason=""), "cut": trace(complete=False)}
        for name, made in ends.items():
            self.assertEqual(check_lives.end_of_trace(made), name)
        self.assertEqual(self.refused(check_lives.check_trace_of, lives.Life(), outcome(), ends["no trailer"]), ["end of the trace"])
        lost = trace(stats={23: 1, 81: 1})
        self.assertEqual(self.refused(check_lives.check_trace_of, lives.Life(), outcome(), lost), ["losses and faults"])
        life = lives.Life(may_lose=("STAT_RECORDS_DROPPED_BY_CUPTI", "STAT_CUPTI_ERRORS"))
        self.assertEqual(self.refused(check_lives.check_trace_of, life, outcome(), lost), [])

    def test_the_other_subscriber_is_named(self):
        life = lives.LIVES["another_subscriber_first"]
        named = trace(0, end_reason="disabled", stats={84: 1}, diagnostics=['it belongs to "CUPTI for gx-host-lives"'])
        self.assertEqual(self.refused(check_lives.check_trace_of, life, outcome(), named), [])
        for changed in ({"diagnostics": []}, {"stats": {}}):
            self.assertEqual(self.refused(check_lives.check_trace_of, life, outcome(), dataclasses.replace(named, **changed)),
                             ["the other subscriber is counted and named"])

    def gap(self, begin_s, end_s, life, state=STATE):
        gap = trace_file.RecordGap(int(begin_s * SECOND), None if end_s is None else int(end_s * SECOND), 10, [])
        made = trace(stats={89: 1}, diagnostics=["another CUPTI client has them"], record_gaps={1: gap})
        return self.refused(check_lives.check_gap, life, outcome(state=state), made)

    def test_a_gap_begins_with_the_client_and_ends_when_it_gives_back(self):
        never, back = lives.Life(gap_ends="never"), lives.Life(gap_ends="given_back")
        self.assertEqual(self.gap(5.1, None, never), [])
        self.assertEqual(self.gap(3.9, None, never), ["the gap begins, after the client came"])
        self.assertEqual(self.gap(6.1, None, never), ["the gap begins, after the client came"])
        self.assertEqual(self.gap(5, 7, never), ["the gap ends"])
        given_back = STATE + "given_back\nmark 9000000000 30\n"
        self.assertEqual(self.gap(5, 9.5, back, given_back), [])
        self.assertEqual(self.gap(5, None, back, given_back), ["the gap ends"])
        for end_s in (8.9, 11.1):
            self.assertEqual(self.gap(5, end_s, back, given_back), ["the gap ends, after records were given back"])

    def test_a_gap_that_nobody_noticed_is_not_ok(self):
        life = lives.Life(gap_ends="never")
        self.assertEqual(self.refused(check_lives.check_gap, life, outcome(), trace()), ["gaps in the trace, and counted"])
        unsaid = trace(stats={89: 1}, record_gaps={1: trace_file.RecordGap(5 * SECOND, None, 1, [])})
        self.assertEqual(self.refused(check_lives.check_gap, life, outcome(), unsaid), ["the client is spoken of"])

    def test_the_other_client_gets_what_it_gets_alone(self):
        def with_counts(own, buffers, foreign):
            return outcome(state=f"client_records {own}\nclient_foreign_buffers {buffers}\nclient_foreign_records {foreign}\n")

        alone = with_counts(60, 0, 0)
        for under, wrong in ((with_counts(60, 0, 0), 0), (with_counts(20, 2, 70), 0), (with_counts(20, 1, 39), 1), (outcome(state=""), 1)):
            self.assertEqual(len(self.refused(check_lives.check_client, alone, under)), wrong)
        self.assertEqual(self.refused(check_lives.check_client, outcome(state=""), outcome(state="")), [])

    def test_the_analyzer_says_so_where_something_is_missing(self):
        check, code = check_lives.check_analysis, "gx-analyze ends with 1 where something is missing"
        account = {"launch_count": 10, "launches_without_kernel_count": 0}
        self.assertEqual(self.refused(check, lives.Life(), trace(), 0, account), [])
        self.assertEqual(self.refused(check, lives.Life(), trace(), 1, account), [code])
        self.assertEqual(self.refused(check, lives.Life("SIGABRT", ""), trace(), 1, account), [])
        for missing in ({"launches_without_kernel": 1}, {"stats": {23: 1}}, {"complete": False}):
            made = trace(**missing)
            account["launches_without_kernel_count"] = made.launches_without_kernel
            self.assertEqual(self.refused(check, lives.Life(), made, 0, account), [code])
            self.assertEqual(self.refused(check, lives.Life(), made, 1, account), [])
        self.assertEqual(self.refused(check, lives.Life(), trace(), 0, {}), ["launches, those without a kernel, by gx-analyze"])

    def test_programs_that_are_started_have_traces_of_their_own(self):
        said = outcome(b"launches 200\nrefused 0\nlaunches_of_child 200\nlaunches 400\nrefused 0\n")
        check = check_lives.check_children
        self.assertEqual(self.refused(check, lives.Life(), said, [trace(400), trace(200)]), [])
        self.assertEqual(self.refused(check, lives.Life(), said, [trace(400), trace(199)]), ["launches in each trace"])
        self.assertEqual(self.refused(check, lives.Life(), said, [trace(400), trace(200, orderly_end=False)]),
                         ["end, losses, launches without a kernel of each"])

    def test_there_are_as_many_traces_as_programs_with_cuda(self):
        check = check_lives.check_tier
        arguments = ("timing", outcome(), outcome())
        self.assertEqual(self.refused(check, lives.Life(), *arguments, [], None), ["trace files"])
        self.assertEqual(self.refused(check, lives.Life(), *arguments, ["a", "b"], None), ["trace files"])
        self.assertEqual(self.refused(check, lives.Life(trace_end=None), *arguments, [], None), [])
        self.assertEqual(self.refused(check, lives.Life(trace_end=None), *arguments, ["a"], None), ["trace files"])


class RunnerTest(unittest.TestCase):
    def run_program(self, script):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program")
            with open(program, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + script)
            os.chmod(program, 0o700)
            runner = lives.Runner(program, "/nowhere/library.so", os.path.join(folder, "scratch"))
            return [runner.run("plain", tier) for tier in (lives.BARE, "core")]

    def test_output_end_and_state_of_a_program_are_kept_and_only_one_run_is_ours(self):
        script = ('echo "name $1 ${CUDA_INJECTION64_PATH:-none} $GPUEXEC_COUNTERS"\necho trouble >&2\n'
                  'echo "folder $PWD" >$2\nkill -ABRT $$\n')
        bare, core = self.run_program(script)
        self.assertEqual((bare.out, core.out), (b"name plain none \n", b"name plain /nowhere/library.so core\n"))
        self.assertEqual((bare.err, bare.end, core.end), (b"trouble\n", "SIGABRT", "SIGABRT"))
        self.assertEqual(bare.state.process(), core.state.process())
        self.assertEqual(len(bare.state.process()), 1)

    def test_what_does_not_end_is_ended_with_its_children_and_told(self):
        limit, lives.LIMIT_S = lives.LIMIT_S, 0.5
        try:
            bare, _ = self.run_program("echo begun; sleep 60 & sleep 60\n")
        finally:
            lives.LIMIT_S = limit
        self.assertEqual((bare.out, bare.end), (b"begun\n", "none in 0.5 s"))


if __name__ == "__main__":
    unittest.main()
