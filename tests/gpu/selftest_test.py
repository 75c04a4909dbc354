"""Tests of what parts s to u of tools/device_test compute of reports, without a GPU and without the analyzer."""

import contextlib
import io
import os
import sys
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
import check_explained
import check_ladder_facts
import check_selftest
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

    def rows_of(self, *signatures):
        class OneReport:
            def find(self, *_):
                return report(*signatures)

        rows = rows_module.Rows()
        check_selftest.Check(rows, "x", self.LISTED, OneReport(), set()).run()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            rows.finish()
        return printed.getvalue().splitlines()

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


class Placebo(unittest.TestCase):
    def test_a_time_below_a_bound_violates(self):
        self.assertEqual(check_ladder_facts.placebo(900, ladder(1000)), "violation")

    def test_a_longer_time_does_not_close(self):
        self.assertEqual(check_ladder_facts.placebo(5000, ladder(1000, latency=500)), "closure")

    def test_what_was_unexplained_stays_so(self):
        self.assertEqual(check_ladder_facts.placebo(1000, ladder(1000, unexplained=400)), "unexplained")

    def test_a_kernel_alike_is_not_found_out(self):
        self.assertEqual(check_ladder_facts.placebo(1050, ladder(1000, latency=500)), "")


if __name__ == "__main__":
    unittest.main()
