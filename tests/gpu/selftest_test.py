"""Tests of what parts s to u of tools/device_test compute of reports, without a GPU and without the analyzer."""

import contextlib
import io
import os
import struct
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
import check_explained
import check_ladder_facts
import check_selftest
import machine_figures
import report_json
import rows as rows_module


def ladder(time_ns, **terms):
    own = dict(terms)
    own.setdefault("useful", time_ns - sum(terms.values()))
    return {"time_ns": time_ns, "term": [{"kind": f"KIND_{kind.upper()}", "ns": ns} for kind, ns in own.items()],
            "unexplained_ns": terms.get("unexplained", 0), "weak_ns": terms.get("unexplained", 0) + terms.get("queue", 0),
            "closure_ns": 0.0, "rung": [{"rung": "RUNG_R1_USEFUL", "at_least_ns": own["useful"]}]}


def signature(name, made, calls=100, what_ifs=()):
    return {"name": f"gx::kernels::{name}(float*)", "short_name": name, "ladder": made, "what_if": list(what_ifs),
            "timing": {"call_count": str(calls), "total_ns": str(int(calls * made["time_ns"])), "median_ns": made["time_ns"]}}


def report(*signatures):
    return {"signature": list(signatures)}


class Terms(unittest.TestCase):
    def test_excess_is_its_factors_and_no_term_is_lost(self):
        made = ladder(1000, excess=600)
        made["excess"] = {"ns": 600, "share": [{"factor": "bank conflicts", "ns": 400}, {"factor": "spills", "ns": 150}]}
        self.assertEqual(report_json.terms_of(made), {"useful": 400, "conflicts": 400, "spills": 150, "excess": 50})

    def test_uneven_and_idle_sms_are_told_apart_by_cause(self):
        made = ladder(1000, uneven=100, idle=300)
        made["idle_causes"] = {"tail_ns": 400}
        terms = report_json.terms_of(made)
        self.assertEqual((terms["tail"], terms["uneven"], terms["idle"]), (400, 0, 0))

    def test_a_hot_slice_stays_uneven(self):
        made = ladder(1000, uneven=800, idle=50)
        made["idle_causes"] = {"imbalance_ns": 50}
        terms = report_json.terms_of(made)
        self.assertEqual((terms["uneven"], terms["imbalance"]), (800, 50))

    def test_an_unmeasured_term_is_no_zero(self):
        made = ladder(1000)
        made["term"].append({"kind": "KIND_LATENCY"})
        self.assertNotIn("latency", report_json.terms_of(made))


class Cases(unittest.TestCase):
    def test_kernels_of_a_round_are_added_by_how_often_they_run(self):
        case = report_json.case_of(report(signature("FirstKernel", ladder(1000, unexplained=100)),
                                          signature("SecondKernel", ladder(300), calls=199)), "c", ["FirstKernel", "SecondKernel"])
        self.assertEqual((case.time_ns, case.unexplained_ns, case.missing), (1600, 100, []))

    def test_names_are_whole_words(self):
        found = report_json.signatures_of(report(signature("TailDefectKernel", ladder(1)), signature("DefectKernel", ladder(1))),
                                          ["DefectKernel"])
        self.assertEqual([row["short_name"] for row in found], ["DefectKernel"])

    def test_a_case_without_useful_work_is_incomplete(self):
        made = ladder(1000)
        made["term"][0]["kind"] = "KIND_WORK"
        self.assertIn("useful work was not counted", report_json.case_of(report(signature("K", made)), "c", ["K"]).missing[0])

    def test_a_what_if_replaces_the_kernel_it_is_of_alone(self):
        what_if = {"change": "no_conflicts", "time_ns": 400}
        case = report_json.case_of(report(signature("AKernel", ladder(1000), what_ifs=[what_if]), signature("BKernel", ladder(50))),
                                   "c", ["AKernel", "BKernel"])
        self.assertEqual(case.what_ifs, {"no_conflicts": 450})

    def test_a_refused_what_if_says_why(self):
        what_if = {"change": "no_spills", "no_prediction": "latency is unmeasured"}
        case = report_json.case_of(report(signature("AKernel", ladder(1000), what_ifs=[what_if])), "c", ["AKernel"])
        self.assertEqual((case.what_ifs, case.no_prediction), ({}, {"no_spills": "latency is unmeasured"}))


class SelfTest(unittest.TestCase):
    LISTED = {"cases": [{"name": "p_defect", "kernels": ["DKernel"]}, {"name": "p_cure", "kernels": ["CKernel"]}],
              "pairs": [{"name": "p", "defect": "p_defect", "cure": "p_cure", "term": "latency", "run_finding": None,
                         "what_if": "loads_in_flight"}]}

    def check_of(self, rows, listed, made):
        asked = []

        class OneReport:
            def find(self, *names, manifest=None):
                asked.append((names, manifest))
                return made

        check = check_selftest.Check(rows, "x", listed, OneReport(), set())
        check.run()
        return check, asked

    def rows_of(self, *signatures):
        return rows_printed(lambda rows: self.check_of(rows, self.LISTED, report(*signatures)))

    def row(self, text, *signatures):
        return next(line for line in self.rows_of(*signatures) if text in line)

    def test_the_planted_term_has_to_change_most(self):
        cure = signature("CKernel", ladder(500, latency=50))
        self.assertTrue(self.row("largest change", signature("DKernel", ladder(1000, latency=500)), cure).endswith("| ok"))
        self.assertTrue(self.row("largest change", signature("DKernel", ladder(1000, latency=100, queue=400)), cure).endswith("| NO"))

    def test_a_prediction_has_to_be_near_the_cure_and_there(self):
        cure = signature("CKernel", ladder(500))
        for time_ns, ok in ((600, "ok"), (700, "NO"), (300, "NO")):
            defect = signature("DKernel", ladder(1000, latency=500),
                               what_ifs=[{"change": "loads_in_flight", "time_ns": time_ns}])
            self.assertTrue(self.row("what-if loads_in_flight", defect, cure).endswith(f"| {ok}"), time_ns)
        self.assertIn("no prediction", self.row("what-if loads_in_flight", signature("DKernel", ladder(1000)), cure))

    def test_a_case_that_was_not_counted_is_no_success(self):
        defect = signature("DKernel", ladder(1000))
        del defect["ladder"]
        lines = self.rows_of(defect, signature("CKernel", ladder(500)))
        self.assertTrue(any("ladders of defect and cure" in line and line.endswith("| NO") for line in lines))
        self.assertTrue(any("planted terms found, all" in line and line.endswith("| NO") for line in lines))

    def test_an_algorithm_is_planted_where_the_work_of_the_pair_is_known(self):
        listed = {"cases": [{"name": "gemm_naive", "kernels": ["DKernel"]}, {"name": "gemm_tiled", "kernels": ["CKernel"]}],
                  "pairs": [{"name": "gemm_tiling", "defect": "gemm_naive", "cure": "gemm_tiled", "term": "algorithm"}]}
        made = report(signature("DKernel", ladder(1000, algorithm=900)), signature("CKernel", ladder(500, algorithm=400)))
        rows = rows_module.Rows()
        check, asked = self.check_of(rows, listed, made)
        manifest = os.path.join(check_selftest.MANIFESTS, "gemm_tiling.textproto")
        self.assertEqual(asked, [(("gemm_naive", "gemm_tiling"), (manifest, "DKernel")), (("gemm_tiled", "gemm_tiling"), (manifest, "CKernel"))])
        self.assertEqual(check.markdown, [("gemm_tiling", "", "algorithm", "algorithm 0.50", "-", "1.00", "-", "0.50", "-")])
        listed["pairs"][0]["name"] = "another"
        lines = rows_printed(lambda rows: self.check_of(rows, listed, made))
        self.assertTrue(any("another: analysed" in line and "another.textproto" in line for line in lines))
        self.assertTrue(any("planted terms found, all" in line and line.endswith("| NO") for line in lines))

    def test_the_table_for_documents_has_each_pair_and_its_misses(self):
        cure = signature("CKernel", ladder(500))
        rows = rows_module.Rows()
        defect = signature("DKernel", ladder(1000, queue=500), what_ifs=[{"change": "loads_in_flight", "time_ns": 600}])
        check, _ = self.check_of(rows, self.LISTED, report(defect, cure))
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as file:
            check_selftest.write_markdown(file.name, check)
            lines = file.read().splitlines()
        self.assertEqual(lines[2], "| p |  | latency (missed) | queue 0.50 | loads_in_flight | 1.00 | 0.60 | 0.50 | +20.0 % |")
        self.assertEqual({line.count("|") for line in lines[:3]}, {10})
        self.assertIn("Planted terms found: 0 of 1.", lines)

    FUSION = {"cases": [{"name": "p_defect", "kernels": ["DKernel", "EKernel"]}, {"name": "p_cure", "kernels": ["CKernel"]}],
              "pairs": [{"name": "p", "defect": "p_defect", "cure": "p_cure", "term": None, "run_finding": "fusable_neighbours",
                         "what_if": "fused"}]}

    def fused(self, index, fused_time_ns):
        chain = {"index": index, "saving": {"fused_time_ns": fused_time_ns}}
        explanation = {"fusable_chain": [chain], "finding": [{"id": "run.fusable"}]}
        made = dict(report(signature("CKernel", ladder(500)), signature("DKernel", ladder(450)), signature("EKernel", ladder(450))),
                    process=[{"run": {"explanation": explanation}}])
        return rows_printed(lambda rows: self.check_of(rows, self.FUSION, made))

    def test_fused_kernels_are_held_to_the_cure(self):
        for time_ns, ok in ((550, "ok"), (700, "NO")):
            line = next(line for line in self.fused([1, 2], time_ns) if "what-if fused" in line)
            self.assertTrue(line.endswith(f"| {ok}"), line)

    def test_a_chain_with_kernels_of_others_is_no_prediction(self):
        line = next(line for line in self.fused([0, 1], 500) if "what-if fused" in line)
        self.assertIn("no prediction", line)

    def test_held_out_pairs_are_named_without_comments(self):
        names = check_selftest.held_out_pairs()
        self.assertEqual(len(names), 8)
        self.assertTrue(all(name.isidentifier() for name in names), names)


class Explained(unittest.TestCase):
    def test_shares_are_weighted_by_time(self):
        total, parts = check_explained.weighted([signature("A", ladder(1000, unexplained=500), calls=1),
                                                 signature("B", ladder(1000), calls=9)])
        self.assertEqual((total, parts["unexplained"]), (10000, 500))

    def test_communication_is_left_out(self):
        made = dict(ladder(1000, unexplained=1000), is_communication=True)
        self.assertEqual(check_explained.weighted([signature("A", made)])[0], 0)


    def test_a_resource_binds_that_is_as_busy_as_the_one_that_does(self):
        metrics = {"sm__cycles_active.max": 1000, "sm__pipe_tensor_cycles_active.max": 3880, "l1tex__data_pipe_lsu_wavefronts.max": 985}
        self.assertTrue(check_explained.binds(counted(metrics), "tensor pipe", "tensor")[0])
        right, words = check_explained.binds(counted(metrics), "L1/shared data", "tensor")
        self.assertTrue(right)
        self.assertIn("98.5 %", words)
        self.assertIn("97.0 %", words)
        self.assertFalse(check_explained.binds(counted(metrics), "dram", "tensor")[0])
        metrics["sm__pipe_tensor_cycles_active.max"] = 3000
        self.assertFalse(check_explained.binds(counted(metrics), "L1/shared data", "tensor")[0])
        self.assertFalse(check_explained.binds(counted({}), "L1/shared data", "tensor")[0])


class Placebo(unittest.TestCase):
    def test_a_time_below_a_bound_violates(self):
        self.assertEqual(check_ladder_facts.placebo(900, ladder(1000)), "violation")

    def test_a_longer_time_does_not_close(self):
        self.assertEqual(check_ladder_facts.placebo(5000, ladder(1000, latency=500)), "closure")

    def test_what_was_unexplained_stays_so(self):
        self.assertEqual(check_ladder_facts.placebo(1000, ladder(1000, unexplained=400)), "unexplained")

    def test_a_kernel_alike_is_not_found_out(self):
        self.assertEqual(check_ladder_facts.placebo(1050, ladder(1000, latency=500)), "")

    def test_kernels_that_take_as_long_are_counted_apart(self):
        printed = rows_printed(lambda rows: check_ladder_facts.check_placebos(
            rows, "x", {"a": ladder(1000), "b": ladder(1050), "c": ladder(9000)}, []))
        self.assertIn("1 of 2", next(line for line in printed if "as long" in line))


def counted(metrics, **more):
    return dict({"name": "K", "timing": {"total_ns": "1"},
                 "counter_group": [{"metric": [{"metric": name, "median": value} for name, value in metrics.items()]}]}, **more)


def rows_printed(check):
    rows = rows_module.Rows()
    check(rows)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        rows.finish()
    return printed.getvalue().splitlines()


class LadderFacts(unittest.TestCase):
    DEVICE = {"process": [{"device": [{"limits": {"multiprocessor_count": "132"}, "machine": {"path": "no such file"}}]}]}
    # Of an H200: a block on 12 of 132 SMs; 2^21 operations in one of 94 slices, one every 1.3 cycles.
    SPLIT_K = {"sm__cycles_active.avg": 12.0, "sm__cycles_active.max": 132.0, "gpc__cycles_elapsed.avg.per_second": 1.98e9}
    ATOMICS = {"lts__d_atomic_input_cycles_active.max": 2097152.0, "lts__d_atomic_input_cycles_active.sum": 2097152.0,
               "lts__d_atomic_input_cycles_active.avg": 22310.1, "lts__cycles_elapsed.avg.per_second": 1.707e9,
               "smsp__sass_inst_executed_op_global_red.sum": 2097152.0, "sm__cycles_active.max": 3.16e6,
               "gpc__cycles_elapsed.avg.per_second": 1.98e9}
    PRODUCT = {"smsp__sass_inst_executed_op_tma_ld.sum": 1.0, "lts__t_sectors_srcunit_tex_op_read.sum": 1e7,
               "smsp__sass_data_bytes_mem_global_op_ld.sum": 0.0, "smsp__sass_data_bytes_mem_global_op_ldgsts.sum": 0.0,
               "sm__warps_active.sum": 1000.0, "smsp__sass_data_bytes_mem_shared_op_gmma.sum": 12800.0,
               "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 101.0,
               "smsp__warps_issue_stalled_long_scoreboard.sum": 200.0,
               "sm__inst_pending_pipe_lsu_mem_lg_cmd_read.sum": 20.0, "sm__inst_executed_pipe_lsu_mem_lg_cmd_read.sum": 1.0,
               "gpc__cycles_elapsed.avg.per_second": 1.69e9, "lts__cycles_elapsed.avg.per_second": 1.707e9,
               "dram__cycles_elapsed.avg.per_second": 3.2e9}

    def facts(self, **cases):
        made = {name: report_json.Case(name, signatures=[counted(metrics)]) for name, metrics in cases.items()}
        return rows_printed(
            lambda rows: check_ladder_facts.check_facts(rows, "x", made, self.DEVICE, machine_figures.of_report(self.DEVICE)))

    def row(self, text, lines):
        return next(line for line in lines if text in line)

    def test_the_sms_are_among_the_limits_of_the_device(self):
        self.assertEqual(check_ladder_facts.device_sms(self.DEVICE), 132)
        with self.assertRaises(ValueError):
            check_ladder_facts.device_sms({"process": [{"device": [{}]}]})
        self.assertTrue(self.row("idle SMs", self.facts(split_k_defect=self.SPLIT_K)).endswith("| ok"))
        busy = dict(self.SPLIT_K, **{"sm__cycles_active.avg": 120.0})
        self.assertTrue(self.row("idle SMs", self.facts(split_k_defect=busy)).endswith("| NO"))

    def test_a_question_without_its_counters_is_no_success(self):
        lines = self.facts(split_k_defect={})
        self.assertTrue(self.row("idle SMs", lines).endswith("| NO"))
        self.assertTrue(self.row("clocks of L2", lines).endswith("| NO"))

    def test_atomics_on_one_address_take_a_cycle_each_of_one_slice(self):
        row = self.row("atomics of a warp", self.facts(atomics_defect=self.ATOMICS))
        self.assertTrue(row.endswith("| ok"))
        self.assertIn("one every 1.30 cycles of L2, so 77.0 % busy", row)
        spread = dict(self.ATOMICS, **{"lts__d_atomic_input_cycles_active.max": 1e6})
        self.assertTrue(self.row("atomics of a warp", self.facts(atomics_defect=spread)).endswith("| NO"))

    def product(self, **changed):
        metrics = dict(self.PRODUCT, **changed)
        return rows_printed(lambda rows: check_ladder_facts.check_product(
            rows, "x", {"signature": [counted(metrics)]}, machine_figures.Machine(b""), 1.707e9, 8192, 2))

    def test_a_product_on_tensor_cores_answers_four_questions(self):
        self.assertEqual([line[-4:] for line in self.product()[1:]], ["| ok"] * 4)

    def test_waiting_loads_are_no_mbarrier(self):
        lines = self.product(**{"sm__inst_pending_pipe_lsu_mem_lg_cmd_read.sum": 180.0})
        self.assertTrue(self.row("mbarrier", lines).endswith("| NO"))

    def test_other_loads_are_no_tma(self):
        lines = self.product(**{"smsp__sass_data_bytes_mem_global_op_ld.sum": 3.0e8})
        self.assertTrue(self.row("TMA", lines).endswith("| NO"))

    def test_a_product_without_tma_is_no_success(self):
        lines = self.product(**{"smsp__sass_inst_executed_op_tma_ld.sum": 0.0})
        self.assertTrue(lines[-1].endswith("| NO"))


class MachineFigures(unittest.TestCase):
    @staticmethod
    def field(number, value):
        if isinstance(value, float):
            return bytes([number << 3 | 1]) + struct.pack("<d", value)
        if isinstance(value, bytes):
            return bytes([number << 3 | 2, len(value)]) + value
        return bytes([number << 3, value])

    def test_latencies_of_one_sector_and_the_best_rate_of_l2(self):
        field = self.field
        latency = lambda level, sectors, per_cycle: field(11, field(1, level) + field(2, field(3, per_cycle)) + field(4, sectors))
        ceiling = lambda resource, rate: field(10, field(1, resource) + field(4, field(2, rate)))
        made = machine_figures.Machine(latency(3, 1, 1 / 283) + latency(4, 32, 1 / 740) + latency(4, 1, 1 / 664) +
                                       ceiling(1, 9e13) + ceiling(2, 1e13) + ceiling(2, 9e12))
        self.assertAlmostEqual(made.l2_load_cycles, 283)
        self.assertAlmostEqual(made.dram_load_cycles, 664)
        self.assertEqual(made.l2_bytes_per_second, 1e13)

    def test_a_file_that_is_none_says_nothing(self):
        self.assertIsNone(machine_figures.of_report({}, os.path.join(FOLDER, "README.md")).dram_load_cycles)
        self.assertIsNone(machine_figures.of_report({}).dram_load_cycles)


if __name__ == "__main__":
    unittest.main()
