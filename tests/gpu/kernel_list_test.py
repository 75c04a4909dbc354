"""Tests of gx-kernels that need no GPU: its list, and that the code of each pair is what the pair is about.

  kernel_list_test.py FILE    FILE: the built gx-kernels
"""

import collections
import json
import os
import re
import subprocess
import sys
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
import machine_code

PAIRS_README = os.path.join(FOLDER, "../../kernels/pairs/README.md")
MANIFESTS = os.path.join(FOLDER, "manifests")
PROGRAM = None

# Operations of compute capability 8.0 and 9.0; forms with a constant or a uniform register have numbers of their own.
FFMA = (0x223, 0x423, 0x823, 0xA23, 0xC23)
DFMA = (0x22B, 0x42B, 0x82B, 0xA2B, 0xC2B)
HMMA = (0x23C,)
REDUCTION = (0x98E,)  # RED: an atomic operation without a result
BARRIER = (0xB1D,)
LOAD_GLOBAL = (0x981,)
SPECIAL = (0x308,)  # MUFU
MEETING = (0x945,)  # BSSY

# Statistics need that many launches of a signature, after those that are left out as warm-up.
LEAST_LAUNCHES = 30


def run(*arguments):
    """The program's output, without any device."""
    environment = dict(os.environ, CUDA_VISIBLE_DEVICES="")
    environment.pop("CUDA_INJECTION64_PATH", None)
    return subprocess.run([PROGRAM, *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False)


def listed(*arguments):
    done = run("--json", *arguments)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def names_in_text(*arguments):
    return [line for line in run("--list", *arguments).stdout.splitlines() if not line.startswith(" ")]


class List(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.list = listed()
        cls.cases = {case["name"]: case for case in cls.list["cases"]}

    def test_every_case_is_in_it_once_in_the_order_of_the_text(self):
        self.assertEqual(len(self.cases), len(self.list["cases"]))
        self.assertEqual(list(self.cases), names_in_text("--all"))
        self.assertEqual([name for name, case in self.cases.items() if case["in_plain_run"]], names_in_text())

    def test_every_case_is_of_a_plain_run_or_of_a_pair(self):
        for name, case in self.cases.items():
            with self.subTest(name):
                self.assertEqual(case["in_plain_run"], not case["pairs"])
                self.assertEqual(bool(case["pairs"]), bool(case["kernels"] and case["bound"]))

    def test_pairs_and_roles_agree(self):
        roles = {(of["pair"], of["role"]): case["name"] for case in self.list["cases"] for of in case["pairs"]}
        expected = {}
        for pair in self.list["pairs"]:
            expected[(pair["name"], "defect")] = pair["defect"]
            expected[(pair["name"], "cure")] = pair["cure"]
        self.assertEqual(roles, expected)
        self.assertEqual(len(expected), 2 * len(self.list["pairs"]))

    def test_each_pair_names_its_change_and_what_is_expected_of_it(self):
        for pair in self.list["pairs"]:
            with self.subTest(pair["name"]):
                self.assertTrue(pair["change"])
                self.assertNotEqual(pair["term"] is None, pair["run_finding"] is None)

    def test_the_table_of_expectations_says_the_same(self):
        keys = ("name", "defect", "cure", "term", "run_finding", "what_if")
        expected = [[pair[key] or "-" for key in keys] for pair in self.list["pairs"]]
        with open(PAIRS_README, encoding="utf-8") as file:
            section = file.read().split("## What is expected")[1].split("\n## ")[0]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
        self.assertEqual(rows[2:], expected)

    def test_the_work_of_a_pair_whose_term_is_algorithm_is_in_its_manifest(self):
        pairs = [pair for pair in self.list["pairs"] if pair["term"] == "algorithm"]
        self.assertEqual(sorted(os.listdir(MANIFESTS)), sorted(f"{pair['name']}.textproto" for pair in pairs))
        for pair in pairs:
            with open(os.path.join(MANIFESTS, f"{pair['name']}.textproto"), encoding="utf-8") as file:
                text = file.read()
            m, n, k = map(int, re.search(r"matrix_product \{ m: (\d+) n: (\d+) k: (\d+) \}", text).groups())
            tensors = re.findall(r"shape: \[(\d+), (\d+)\].*?(fp32)?\"? \}$", text, re.MULTILINE)
            for role in ("defect", "cure"):
                case = self.cases[pair[role]]
                with self.subTest(pair["name"], case=case["name"]):
                    self.assertEqual(len(case["kernels"]), 1)
                    self.assertEqual(2 * m * n * k * case["repeat"], case["paper"]["flop"])
                    self.assertEqual(sum(int(a) * int(b) * (4 if dtype else 2) for a, b, dtype in tensors) * case["repeat"],
                                     case["paper"]["bytes"])

    def test_launches_suffice_for_statistics(self):
        for name, case in self.cases.items():
            if not case["pairs"]:
                continue
            with self.subTest(name):
                self.assertGreaterEqual(case["repeat"], LEAST_LAUNCHES)
                if case["paper"] is not None:
                    self.assertGreaterEqual(case["paper"]["kernels"], LEAST_LAUNCHES * len(case["kernels"]))

    def test_paper_values_are_there_but_where_the_device_decides(self):
        without = [name for name, case in self.cases.items() if case["pairs"] and case["paper"] is None]
        self.assertEqual(without, ["tail_defect", "tail_cure"])

    def test_paper_values_grow_with_repeat(self):
        once, thrice = listed("--case", "pairs", "--repeat", "1"), listed("--case", "pairs", "--repeat", "3")
        for case, more in zip(once["cases"], thrice["cases"]):
            if case["paper"] is not None:
                self.assertEqual({key: 3 * value for key, value in case["paper"].items()}, more["paper"], case["name"])

    def test_paper_values_of_a_known_shape(self):
        paper = listed("--case", "gemm_tensor", "--size", "4096", "--repeat", "1")["cases"][0]["paper"]
        self.assertEqual(paper, {"launches": 1, "graph_launches": 0, "kernels": 1, "bytes": 8 * 4096**2, "flop": 2 * 4096**3})

    def test_a_size_that_a_case_refuses_has_no_paper_values(self):
        case = listed("--case", "stride_cure", "--size", "100000")["cases"][0]
        self.assertIsNone(case["paper"])
        self.assertIsNone(case["counts"])

    def test_counts_are_of_one_launch_of_the_only_kernel(self):
        counted = [case for case in self.cases.values() if case["counts"] is not None]
        self.assertTrue(counted)
        for case in counted:
            with self.subTest(case["name"]):
                self.assertEqual((len(case["kernels"]), case["paper"]["graph_launches"]), (1, 0))
                self.assertGreater(case["counts"]["blocks"], 0)
                self.assertEqual(listed("--case", case["name"], "--repeat", "7")["cases"][0]["counts"], case["counts"])

    def test_counts_agree_with_the_paper_values(self):
        for case in self.cases.values():
            counts, paper = case["counts"], case["paper"]
            if counts is None:
                continue
            with self.subTest(case["name"]):
                flop = sum(value for name, value in counts.items() if name.endswith("_flop"))
                # What comes before and after a loop is not in the paper's.
                self.assertAlmostEqual(flop * paper["kernels"], paper["flop"], delta=0.001 * paper["flop"])
                if "global_load_bytes" in counts:
                    moved = counts["global_load_bytes"] + counts["global_store_bytes"]
                    self.assertEqual(moved * paper["kernels"], paper["bytes"])

    def test_counts_of_a_known_size(self):
        counts = listed("--case", "bank_conflict_defect", "--size", "64")["cases"][0]["counts"]
        self.assertEqual((counts["blocks"], counts["global_load_sectors"]), (4, 512))
        # 128 rows of 32 floats: each is written at once, and each column is read one float after the other.
        wavefronts = counts["shared_store_wavefronts"], counts["shared_load_wavefronts"], counts["shared_conflicts"]
        self.assertEqual(wavefronts, (128, 128 * 32, 128 * 31))

    def test_chosen_cases_come_with_the_pairs_that_they_make_up(self):
        chosen = listed("--case", "gemm_naive,gemm_tiled,fp64_cure")
        self.assertEqual([case["name"] for case in chosen["cases"]], ["gemm_naive", "gemm_tiled", "fp64_cure"])
        self.assertEqual([pair["name"] for pair in chosen["pairs"]], ["gemm_tiling"])

    def test_wrong_usage_is_told(self):
        for arguments in (("--all", "--case", "axpy"), ("--case", "nothing"), ("--json", "more")):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertTrue(done.stderr)


class Code(unittest.TestCase):
    """What the compiler made of the kernels, for each architecture in the binary."""

    @classmethod
    def setUpClass(cls):
        cls.code = collections.defaultdict(dict)
        for architecture, cubin in machine_code.cubins(PROGRAM):
            cls.code[architecture].update(machine_code.functions(cubin))
        if not cls.code:
            raise AssertionError(f"no machine code found in {PROGRAM}")
        cls.cases = {case["name"]: case for case in listed("--case", "pairs")["cases"]}

    def of(self, architecture, kernel):
        # A mangled name states the length of each part of it.
        found = [code for name, code in self.code[architecture].items() if re.search(rf"\D{len(kernel)}{kernel}E", name)]
        self.assertEqual(len(found), 1, f"{kernel}, architecture {architecture}")
        return found[0]

    def each(self, *kernels):
        """(architecture, code of each kernel) for every architecture."""
        for architecture in self.code:
            if any("StrideDefectKernel" in name for name in self.code[architecture]):
                yield (architecture, *(self.of(architecture, kernel) for kernel in kernels))

    def count(self, code, operations):
        return sum(machine_code.count(code, operation) for operation in operations)

    def test_every_kernel_of_the_list_is_there_under_a_name_of_its_own(self):
        kernels = [kernel for case in self.cases.values() for kernel in case["kernels"]]
        self.assertEqual(len(set(kernels)), len(kernels))
        for kernel in kernels:
            self.assertTrue(list(self.each(kernel)), kernel)
            containing = {name for code in self.code.values() for name in code if kernel in name}
            self.assertEqual(len(containing), 1, containing)

    def test_the_same_code_where_the_change_lies_outside_it(self):
        for pair in ("Stride", "Misaligned", "Occupancy", "Tail", "Divergence", "Graph", "SplitK"):
            for architecture, defect, cure in self.each(pair + "DefectKernel", pair + "CureKernel"):
                self.assertEqual(defect, cure, f"{pair}, architecture {architecture}")

    def test_registers_are_spilled_by_one_kernel_alone(self):
        for case in self.cases.values():
            for kernel in case["kernels"]:
                for architecture, code in self.each(kernel):
                    spills = self.count(code, machine_code.LOCAL_MEMORY)
                    # A load or store in two for each of the loop's 36 multiply-adds, at least.
                    least, most = (36, 1000) if kernel == "SpillDefectKernel" else (0, 0)
                    self.assertTrue(least <= spills <= most, f"{kernel}, architecture {architecture}: {spills}")

    def test_double_precision_is_in_the_defect_alone(self):
        for architecture, defect, cure in self.each("Fp64DefectKernel", "Fp64CureKernel"):
            self.assertGreaterEqual(self.count(defect, DFMA), 16, architecture)
            self.assertEqual(self.count(cure, DFMA), 0, architecture)
            self.assertGreaterEqual(self.count(cure, FFMA), 16, architecture)

    def test_tensor_instructions_are_in_the_last_product_alone(self):
        for architecture, naive, tiled, tensor in self.each("GemmNaiveKernel", "GemmTiledKernel", "GemmTensorKernel"):
            self.assertEqual((self.count(naive, HMMA), self.count(tiled, HMMA)), (0, 0), architecture)
            self.assertGreaterEqual(self.count(tensor, HMMA), 16, architecture)
            # 8 x 8 numbers at a time.
            self.assertGreaterEqual(self.count(tiled, FFMA), 64, architecture)

    def test_barriers_of_the_block_are_in_the_defect_alone(self):
        for architecture, defect, cure in self.each("BarrierDefectKernel", "BarrierCureKernel"):
            self.assertGreaterEqual(self.count(defect, BARRIER), 1, architecture)
            self.assertEqual(self.count(cure, BARRIER), 0, architecture)

    def test_both_add_with_an_atomic_operation_for_each_word_read(self):
        for architecture, *codes in self.each("AtomicsDefectKernel", "AtomicsCureKernel"):
            for code in codes:
                self.assertGreaterEqual(self.count(code, REDUCTION), 1, architecture)
                self.assertEqual(self.count(code, REDUCTION), self.count(code, LOAD_GLOBAL), architecture)

    def test_divergent_branches_are_loops_and_not_selections(self):
        # Four loops of 16 multiply-adds each, and a place where lanes that went different ways meet again.
        for architecture, code in self.each("DivergenceDefectKernel"):
            self.assertGreaterEqual(self.count(code, FFMA), 64, architecture)
            self.assertGreaterEqual(self.count(code, MEETING), 1, architecture)

    def test_structures_are_read_float_by_float(self):
        # As many loads as of the arrays: no wide ones that would take several floats of a structure at once.
        for architecture, defect, cure in self.each("AosDefectKernel", "AosCureKernel"):
            self.assertGreaterEqual(self.count(cure, LOAD_GLOBAL), 3, architecture)
            self.assertEqual(self.count(defect, LOAD_GLOBAL), self.count(cure, LOAD_GLOBAL), architecture)

    def test_a_chain_of_special_functions_is_in_the_code_step_by_step(self):
        # Of kernels/ceilings/vector.cu: 16 rounds of 8 chains in the loop, and a step of each after it.
        found = {
            architecture: [self.count(code, SPECIAL) for name, code in codes.items() if "VectorKernel" in name and "SpecialKind" in name]
            for architecture, codes in self.code.items()
            if any("VectorKernel" in name for name in codes)
        }
        self.assertTrue(found)
        self.assertEqual(found, {architecture: [(16 + 1) * 8] for architecture in found})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: kernel_list_test.py FILE")
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
