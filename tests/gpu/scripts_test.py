"""Tests of what the GPU checks are made of, on machines without a GPU: the trace reader, the machine code reader, the bars.

  scripts_test.py [--counter-kernels FILE]    FILE: the built gx-counter-kernels, whose kernels must be countable
"""

import ast
import contextlib
import glob
import io
import os
import struct
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
import check_coverage
import check_counters
import check_cost
import check_hazards
import check_replay
import check_storm
import counter_packets
import coverage
import machine_code
import rows as rows_module
import trace_file
import wire_format

GOLDEN = os.path.join(FOLDER, "../golden")
COUNTER_KERNELS = None

# ------------------------------------------------------------------------------------------ protobuf, as the library writes it


def varint(value):
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def zigzag(value):
    return value << 1 if value >= 0 else (-value << 1) - 1


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    data = value if isinstance(value, bytes) else value.encode()
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field, values):
    return text(field, b"".join(varint(value) for value in values))


def doubles(field, values):
    return text(field, struct.pack(f"<{len(values)}d", *values))


def trace_of(*packets):
    """A read trace of packets; checksums are not looked at."""
    data = b""
    for packet in packets:
        frame = varint(1 << 3 | 5) + struct.pack("<I", trace_file.MAGIC) + varint(2 << 3 | 1) + bytes(8) + text(3, packet)
        data += text(1, frame)
    with tempfile.NamedTemporaryFile(suffix=".pb") as file:
        file.write(data)
        file.flush()
        return trace_file.read(file.name)


def group(iid, name, kind, metrics, spare=False):
    fields = number(1, iid) + text(2, name) + number(3, kind)
    return text(17, fields + b"".join(text(6, metric) for metric in metrics) + number(7, int(spare)))


def window(iid, kind, begin_ns, end_ns, switch_ns=0):
    return text(16, number(1, iid) + number(2, kind) + number(3, begin_ns) + number(4, end_ns) + number(5, switch_ns))


def signature(iid, name):
    return text(4, number(1, iid) + text(2, name)) + text(10, number(1, iid) + number(2, iid)) + text(
        11, number(1, iid) + number(2, iid) + number(4, 1) + number(7, 32))


def batch(group_iid, signatures, rows, real_metrics=(), flags=()):
    """A CounterBatch of rows of values."""
    integers, reals, last, previous = [], [], {}, None
    for iid, row in zip(signatures, rows):
        whole = [int(value) for i, value in enumerate(row) if i not in real_metrics]
        reference = last.get(iid, previous or [0] * len(whole))
        integers += [zigzag(value - before) for value, before in zip(whole, reference)]
        last[iid] = previous = whole
        reals += [row[i] for i in real_metrics]
    return text(32, number(1, len(rows)) + number(2, group_iid) + number(3, 1) + number(4, 2) + packed(12, signatures)
                + packed(16, list(flags) or [0]) + number(17, len(rows[0])) + packed(18, real_metrics) + packed(19, integers)
                + doubles(20, reals))


def kernels(durations_by_signature):
    """Launches in window 1 and their records, one a duration."""
    flat = [(iid, ns) for iid, durations in durations_by_signature.items() for ns in durations]
    count, ones = len(flat), [0] + [zigzag(1)] * (len(flat) - 1)
    last, deltas = {}, []
    for iid, ns in flat:
        deltas.append(zigzag(ns - last.get(iid, 0)))
        last[iid] = ns
    launches = number(1, count) + number(2, 7) + number(3, 1) + packed(5, [0] * count) + number(6, 1) + packed(7, ones) + packed(
        9, [iid for iid, _ in flat])
    records = number(1, count) + number(2, 1) + packed(7, deltas) + number(6, 1) + number(8, 1) + packed(9, ones) + packed(
        11, [iid for iid, _ in flat])
    attributes = b"".join(text(12, number(1, iid) + number(2, iid) + number(3, 1) + number(6, 32)) for iid in last)
    return attributes + text(20, launches) + text(21, records)


class TraceReader(unittest.TestCase):
    def test_counts_kernels_of_a_real_trace(self):
        trace = trace_file.read(os.path.join(GOLDEN, "h200_decode.trace.pb"))
        self.assertTrue(trace.complete and trace.orderly_end)
        self.assertEqual((trace.kernel_count, trace.launch_count, trace.graph_launches), (6521, 4205, 4))
        # As gx-analyze has them: 15.5 ms.
        time_ns = sum(map(sum, trace.durations_ns.values())) + sum(trace.graph_time_ns.values())
        self.assertEqual(round(time_ns / 1e5), 155)

    def test_values_of_samples_are_running_differences_by_signature(self):
        rows = [(100, 0.5, 7), (2000, 1.5, 8), (101, 2.5, 7), (2000, float("nan"), 9)]
        trace = trace_of(group(1, "light+", 1, ["a.sum", "b.avg", "c.sum"]) + batch(1, [1, 2, 1, 2], rows, real_metrics=[1]))
        got = [sample.values for sample in trace.counters.samples]
        self.assertEqual(got[:3], rows[:3])
        self.assertEqual((got[3][0], got[3][2]), (2000, 9))
        self.assertNotEqual(got[3][1], got[3][1])
        self.assertEqual(trace.counters.values_by_signature("a.sum"), {1: [100, 101], 2: [2000, 2000]})
        self.assertEqual(trace.counters.values_by_signature("b.avg"), {1: [0.5, 2.5], 2: [1.5]})

    def test_void_and_first_samples_are_told_apart(self):
        flags = [counter_packets.FLAG_FIRST_OF_SESSION, counter_packets.FLAG_VOID, 0]
        trace = trace_of(group(1, "light+", 1, ["a.sum"]) + batch(1, [1, 1, 1], [(1,), (2,), (3,)], flags=flags))
        self.assertEqual(trace.counters.values_by_signature("a.sum"), {1: [3]})
        self.assertEqual(trace.counters.values_by_signature("a.sum", only_clean=False), {1: [1, 3]})

    def test_what_is_denied_is_a_function_a_graph_or_a_context(self):
        trace = trace_of(text(34, number(1, 5) + number(2, 3)) + text(34, number(2, 5) + text(4, "waited 9 ms") + number(6, 7))
                         + text(34, number(2, 4) + number(5, 2)))
        self.assertEqual([(denial.place, denial.reason) for denial in trace.counters.denials],
                         [("function 5", "cooperative"), ("graph 7", "deadline"), ("context 2", "peer memory")])

    def test_a_gap_is_told_twice_and_its_last_word_holds(self):
        opened, ended = number(1, 1) + number(2, 50) + number(4, 7) + text(5, "a.so"), number(1, 1) + number(2, 50) + number(3, 90)
        trace = trace_of(text(37, opened), text(37, ended + number(4, 9) + text(5, "a.so") + text(5, "b.so")))
        self.assertEqual(trace.record_gaps, {1: trace_file.RecordGap(50, 90, 9, ["a.so", "b.so"])})
        self.assertEqual(trace_of(text(37, opened)).record_gaps, {1: trace_file.RecordGap(50, None, 7, ["a.so"])})

    def test_a_kernel_that_was_still_running_is_untimed_and_unfinished(self):
        trace = trace_of(text(21, number(1, 2) + number(2, 3)), text(21, number(1, 3) + number(2, 2)))
        self.assertEqual((trace.kernel_count, trace.untimed, trace.unfinished), (5, 5, 2))

    def test_a_batch_with_too_few_values_is_damage(self):
        short = text(32, number(1, 2) + number(2, 1) + number(17, 1) + packed(19, [1]))
        trace = trace_of(group(1, "light+", 1, ["a.sum"]) + short)
        self.assertFalse(trace.complete)
        self.assertIn("counter batch", trace.diagnostics[0])

    def test_launches_in_counter_windows_lack_no_kernel(self):
        launch = text(20, number(1, 3) + number(2, 7) + number(3, 2) + packed(9, [1]) + packed(7, [0, 2, 2]) + number(6, 50))
        trace = trace_of(signature(1, "k") + window(1, 1, 0, 10) + window(2, 2, 10, 20) + kernels({1: [5, 6]}) + launch)
        self.assertEqual((trace.launches_in_counter_windows, trace.launches_without_kernel), (3, 0))
        self.assertEqual(trace.durations_ns[1], [5, 6])

    def test_a_varint_without_end_is_damage(self):
        with self.assertRaises(wire_format.DamagedTrace):
            wire_format.varint(b"\x80\x80", 0)


def instruction(operation, predicate=7, forward_bytes=0):
    """As compute capability 9.0 has it."""
    units = forward_bytes // 4
    return (operation | predicate << 12 | (units & 0xFF) << 16 | ((units >> 8) & ((1 << 48) - 1)) << 34).to_bytes(16, "little")


class MachineCode(unittest.TestCase):
    # Three instructions, a loop of four, two, EXIT, the branch to itself, padding.
    CODE = (instruction(0x202) * 3 + instruction(0x223) * 3 + instruction(0x947, 0, -4 * 16) + instruction(0x986) * 2
            + instruction(0x94D) + instruction(0x947, 7, -16) + instruction(0x918) * 2)

    def test_a_loop_counts_as_often_as_it_runs(self):
        self.assertEqual(machine_code.warp_instructions(self.CODE, 1), 3 + 4 + 2 + 1)
        self.assertEqual(machine_code.warp_instructions(self.CODE, 10), 3 + 4 * 10 + 2 + 1)

    def test_an_exit_under_a_predicate_is_not_the_end(self):
        code = instruction(0x94D, 0) + self.CODE
        self.assertEqual(machine_code.warp_instructions(code, 1), 11)

    def test_what_is_no_straight_line_is_refused(self):
        forward = instruction(0x947, 0, 32) + self.CODE
        for code in (forward, instruction(0x944) + self.CODE, instruction(0x202) * 4):
            with self.assertRaises(machine_code.NotCountable):
                machine_code.warp_instructions(code, 2)

    def test_every_built_kernel_can_be_counted(self):
        if COUNTER_KERNELS is None or not os.path.exists(COUNTER_KERNELS):
            self.skipTest("no gx-counter-kernels here")
        listed = subprocess.run([COUNTER_KERNELS, "--list"], stdout=subprocess.PIPE, check=True).stdout
        with tempfile.NamedTemporaryFile() as file:
            file.write(listed)
            file.flush()
            found = check_counters.parse_expectations(file.name)
        codes = check_counters.codes_of(COUNTER_KERNELS, 90)
        self.assertGreater(len(found), 20)
        self.assertEqual(check_counters.add_machine_code(found, codes), [])
        for name in found:
            self.assertEqual(codes[name], codes["before_" + name], name)
            # As the kernels say of themselves.
            for operation in machine_code.LOCAL_MEMORY:
                self.assertEqual(machine_code.count(codes[name], operation), 0, f"{name} uses local memory")


class Bars(unittest.TestCase):
    def test_an_error_is_how_far_a_value_lies_outside(self):
        self.assertEqual(check_counters.error_of(5, 4, 6), 0)
        self.assertAlmostEqual(check_counters.error_of(101, 100, 100), 0.01)
        self.assertEqual(check_counters.error_of(1, 0, 0), float("inf"))
        self.assertEqual(check_counters.error_of(float("nan"), 1, 1), float("inf"))

    def test_a_metric_counted_in_another_form_stands_for_it(self):
        known = {"a.sum", "b_realtime.sum", "c_sparsity_off.sum", "c_sparsity_on.sum"}
        spelled = [check_counters.spelled(metric, known) for metric in ("a.sum", "b.sum", "c.sum", "d.sum")]
        self.assertEqual(spelled, ["a.sum", "b_realtime.sum", "c_sparsity_off.sum", None])

    def test_a_difference_is_explained_by_spread_or_by_what_other_kernels_show(self):
        explain = check_counters.explanation
        self.assertIn("overlap", explain([100, 120], [119, 140], []))
        self.assertIn("10 apart", explain([100, 120], [130, 131], []))
        self.assertIn("not of the kernel", explain([5000, 5001], [4000, 4001], [900, 700]))
        # Of both signs, much less, or seen in one kernel alone: nothing of the range.
        for others in ([900, -900], [600, 500], [900]):
            self.assertIsNone(explain([5000, 5001], [4000, 4001], others))

    def test_coverage_asks_tensor_groups_of_tensor_kernels_only(self):
        plan = text(18, number(1, 0) + packed(4, [1, 2, 3]))
        light = ["sm__pipe_tensor_cycles_active.sum"]
        definitions = (signature(1, "gemm") + signature(2, "axpy") + signature(3, "late") + window(1, 1, 0, 9) + group(1, "light+", 1, light)
                       + group(2, "tensor", counter_packets.KIND_TENSOR, ["ops.sum"]) + group(3, "issue", 1, ["x.sum"], spare=True))
        samples = batch(1, [1, 2] * 3 + [3], [(9,), (0,)] * 3 + [(0,)]) + batch(2, [1, 1], [(5,), (5,)])
        trace = trace_of(definitions + plan + kernels({1: [60], 2: [30], 3: [10]}) + samples)
        share, lacking = coverage.complete_share(trace)
        self.assertAlmostEqual(share, 0.3)
        self.assertEqual([(s, groups) for _, s, groups in lacking], [(1, [("tensor", 2)]), (3, [("light+", 1)])])

    def test_coverage_takes_packed_half_arithmetic_for_no_tensor_work(self):
        definitions = (signature(1, "gemm") + signature(2, "half2") + window(1, 1, 0, 9)
                       + group(1, "light+", 1, ["sm__pipe_tensor_cycles_active.sum"])
                       + group(2, "sass+", 2, ["smsp__sass_thread_inst_executed_op_hfma_pred_on.sum"])
                       + group(3, "tensor", counter_packets.KIND_TENSOR, ["ops.sum"]) + text(18, packed(4, [1, 2, 3])))
        samples = batch(1, [1, 2] * 3, [(64,), (64,)] * 3) + batch(2, [1, 2] * 3, [(0,), (1024,)] * 3)
        missing = coverage.missing_groups(trace_of(definitions + kernels({1: [60], 2: [30]}) + samples))
        self.assertEqual(missing, {1: [("tensor", 0)], 2: []})

    def test_coverage_asks_no_more_tensor_groups_once_the_path_is_known(self):
        tensor = counter_packets.KIND_TENSOR
        definitions = (signature(1, "gemm") + window(1, 1, 0, 9) + group(1, "light+", 1, ["sm__pipe_tensor_cycles_active.sum"])
                       + group(2, "tensor", tensor, ["sm__ops_path_tensor_a.sum"])
                       + group(3, "tensor_bf16", tensor, ["sm__ops_path_tensor_b.sum"])
                       + group(4, "tensor_fp16", tensor, ["sm__ops_path_tensor_c.sum"]) + text(18, packed(4, [1, 2, 3, 4])))
        light = batch(1, [1] * 3, [(9,)] * 3)
        for values, lacks in (((0, 5), []), ((0, 0), [("tensor_fp16", 0)])):
            samples = batch(2, [1] * 3, [(values[0],)] * 3) + batch(3, [1] * 3, [(values[1],)] * 3)
            missing = coverage.missing_groups(trace_of(definitions + kernels({1: [60]}) + light + samples))
            self.assertEqual(missing, {1: lacks})

    def test_steps_next_to_a_switch_are_left_out(self):
        trace = trace_of(window(1, 1, 0, 100) + window(2, 2, 100, 200) + window(3, 1, 200, 300))
        steps = [(start, start + 10) for start in range(0, 300, 20)]
        kept = check_coverage.in_timing_windows(steps, trace.counters)
        self.assertEqual([begin for begin, _ in kept], [20, 40, 60, 220, 240, 260])

    def test_what_is_added_is_what_steps_in_counter_windows_took_longer(self):
        plan = text(18, number(1, 0) + packed(4, [1]))
        session = text(19, number(1, 1) + number(2, 2) + number(4, 1) + number(10, 30) + number(15, 200))
        trace = trace_of(window(1, 1, 0, 1000) + window(2, 2, 1000, 1400, switch_ns=50) + window(3, 1, 1400, 3000)
                         + group(1, "light+", 1, ["a.sum"]) + plan + session)

        class Run:
            # The third overlaps the switch, the fourth the window, the one after it the switch back.
            steps = [(0, 400), (400, 800), (800, 1300), (1300, 1900), (1900, 2310), (2310, 2710)]

        added = check_cost.Added(Run, trace)
        self.assertAlmostEqual(added.usual_step_s, 400e-9)
        self.assertAlmostEqual(added.slowdown_s, 310e-9)
        self.assertAlmostEqual(added.calls_s, 230e-9)
        self.assertAlmostEqual(added.least_s, 310e-9)
        self.assertAlmostEqual(added.most_s, 540e-9)


class Hazards(unittest.TestCase):
    DEFINITIONS = signature(1, "keep_busy") + signature(2, "pass_on") + group(1, "light+", 1, ["a.sum"])
    SESSION = text(19, number(1, 1) + number(2, 2) + number(4, 1) + number(7, 1))

    def met(self, name, *packets):
        trace = trace_of(self.DEFINITIONS, *packets)
        outcomes = {session.outcome: 1 for session in trace.counters.sessions.values()}
        rows = rows_module.Rows()
        with contextlib.redirect_stdout(io.StringIO()):
            check_hazards.check_met(rows, "hazard", name, trace, outcomes)
            return rows.finish() == 0

    def test_a_program_must_have_valid_samples_of_the_kernel_that_it_is_about(self):
        valid, void = (self.SESSION + batch(1, [1], [(9,)], flags=[flag]) for flag in (0, counter_packets.FLAG_VOID))
        self.assertTrue(self.met("wait_later", valid))
        self.assertTrue(self.met("threads", valid))
        for name in ("wait_later", "threads"):
            self.assertFalse(self.met(name, void), name)
            self.assertFalse(self.met(name, self.SESSION), name)
        self.assertFalse(self.met("wait_sooner", valid))

    def test_threads_on_their_own_default_streams_are_sampled_or_left_alone(self):
        self.assertTrue(self.met("per_thread"))
        self.assertTrue(self.met("per_thread", self.SESSION + batch(1, [1], [(9,)])))
        self.assertFalse(self.met("per_thread", self.SESSION))

    def test_every_hazard_has_a_bar(self):
        named = set(check_hazards.SAMPLED) | check_hazards.MET_BY_A_VOID_RANGE | check_hazards.SAMPLED_OR_LEFT_ALONE
        self.assertEqual(set(check_hazards.CHECKS) - named, {"peer"})


class Programs(unittest.TestCase):
    def test_every_script_is_valid_python(self):
        for path in glob.glob(os.path.join(glob.escape(FOLDER), "*.py")):
            with open(path, encoding="utf-8") as file:
                ast.parse(file.read(), path)


class ReplayTest(unittest.TestCase):
    TEXT = ("expect once_chain gr__ctas_launched.sum 8\nexpect once_chain ffma.sum 16\nresult once_chain ok\n"
            "result once_count 5 instead of 4\nlaunches 10\n")

    def test_the_programs_words_are_read(self):
        program = check_replay.Program(self.TEXT)
        self.assertEqual(program.expected, {"once_chain": {"gr__ctas_launched.sum": 8, "ffma.sum": 16}})
        self.assertEqual(program.wrong, ["once_count 5 instead of 4"])
        self.assertEqual((program.results, program.launches), (2, 10))

    def test_a_wrong_result_or_none_is_not_ok(self):
        for text, good in ((self.TEXT, 1), ("", 1), ("result once_chain ok\n", 2)):
            rows = rows_module.Rows()
            check_replay.check_results(rows, "r", check_replay.Program(text), "0")
            with contextlib.redirect_stdout(io.StringIO()) as out:
                rows.finish()
            self.assertEqual(out.getvalue().count("| ok\n") - 1, good, text)


class StormTest(unittest.TestCase):
    def rows_of(self, check, *arguments):
        rows = rows_module.Rows()
        check(rows, "s", *arguments)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            rows.finish()
        return out.getvalue()

    def test_whole_minutes_are_summarised_and_other_lines_left_out(self):
        text = "warning\nsample 10.0 100 5000 20 300\nsample 59.0 200 7000 22 310\nsample 61.0 300 9000 21 300\nsample 121.0 400 1 1 1\n"
        self.assertEqual(check_storm.minutes(check_storm.read_samples(text)), [(0, 200, 6000, 22, 310), (1, 300, 9000, 21, 300)])
        self.assertEqual(check_storm.minutes([]), [])

    def test_what_grows_after_the_first_minute_is_not_ok(self):
        flat = [(minute, 1, 500000, 20, 300) for minute in range(4)]
        self.assertNotIn("| NO", self.rows_of(check_storm.check_growth, [(0, 1, 9, 9, 9)] + flat[1:]))
        for column, value in ((2, 506000), (3, 21), (4, 301)):
            grown = [list(row) for row in flat]
            grown[3][column] = value
            self.assertEqual(self.rows_of(check_storm.check_growth, grown).count("| NO"), 1, column)
        self.assertIn("| NO", self.rows_of(check_storm.check_growth, flat[:2]))

    def test_every_launch_has_a_record_or_was_in_a_window_of_counters(self):
        report = {"process": [{"accounting": {"launch_count": "10", "kernel_record_count": "7", "counter_window_launch_count": "3"}}]}
        self.assertNotIn("| NO", self.rows_of(check_storm.check_accounting, 10, report, 0))
        self.assertEqual(self.rows_of(check_storm.check_accounting, 11, report, 1).count("| NO"), 3)
        self.assertEqual(self.rows_of(check_storm.check_accounting, 10, {}, 0).count("| NO"), 2)


if __name__ == "__main__":
    if "--counter-kernels" in sys.argv:
        at = sys.argv.index("--counter-kernels")
        COUNTER_KERNELS = sys.argv[at + 1]
        del sys.argv[at : at + 2]
    unittest.main()
