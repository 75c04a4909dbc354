"""What the ladder of a kernel's time rests on: how counters behave, and that counters of another kernel explain nothing.

  check_ladder_facts.py --traces DIR|FILE --list FILE --analyze PROGRAM [--machine FILE] [--product TRACE]

Traces as check_selftest.py takes them, with counters "lean"; --product: of well_tuned.py, for what only a product on tensor
cores shows. A row is a check where a kernel of known behaviour decides it, else a figure. Placebo: the time of one kernel with
the counters of another one; such a pair has to violate a bound, to fail closure, or to leave 30 % and more unexplained.
--table FILE gets a line a pair. --label TEXT goes before each row, --rows FILE also gets the rows.
"""

import argparse
import json
import sys

import check_selftest
import report_json
import rows as rows_module

# The project's own bar, and the ladder's: what closure may be off, and what counts as not explained.
PLACEBO_SHARE = 0.90
CLOSURE_RATIO = 0.10
CLOSURE_NS = 200
NOT_EXPLAINED = 0.30
# A shorter list of kernels says nothing.
LEAST_PLACEBOS = 6

# Bytes of a sector.
SECTOR = 32


class Counters:
    """Medians of a signature's metrics, whatever group they are of; the first group that has one wins."""

    def __init__(self, signature):
        self._values = {}
        for group in signature.get("counter_group", []):
            for metric in group.get("metric", []):
                if "median" in metric:
                    self._values.setdefault(metric["metric"], metric["median"])

    def __call__(self, name):
        return self._values[name]

    def has(self, *names):
        return all(name in self._values for name in names)

    def starting(self, prefix):
        return {name: value for name, value in self._values.items() if name.startswith(prefix)}

    def active_s(self):
        """How long the SM that was active longest was so."""
        return self("sm__cycles_active.max") / self("gpc__cycles_elapsed.avg.per_second")


class Facts:
    def __init__(self, rows, label):
        self._rows, self._label = rows, label

    def _add(self, what, bar, figure, ok=True):
        self._rows.add(f"{self._label}: {what}", bar, figure, ok)

    def lacks(self, what, bar, name):
        self._add(what, bar, f"no counters of {name}", False)

    def idle_sms(self, name, counters, blocks, sms):
        """One block an SM on some of them."""
        share = counters("sm__cycles_active.avg") / counters("sm__cycles_active.max")
        expected = blocks / sms
        self._add(f"mean active cycles count idle SMs ({name}, {blocks} blocks)", f"{100 * expected:.1f} % of the busiest, +-10 %",
                  f"{100 * share:.1f} %", abs(share / expected - 1) <= 0.1)

    def instances(self, name, counters):
        """.max of a unit's instances is no less than their mean, and says how hot the hottest is."""
        parts = []
        ok = True
        for base in ("dram__bytes", "lts__t_sectors", "lts__lts2xbar_cycles_active", "lts__d_atomic_input_cycles_active"):
            if counters.has(f"{base}.max", f"{base}.avg") and counters(f"{base}.avg") > 0:
                ratio = counters(f"{base}.max") / counters(f"{base}.avg")
                ok = ok and ratio >= 0.999
                parts.append(f"{base} {ratio:.2f}")
        self._add(f"busiest instance over the mean ({name})", ">= 1", ", ".join(parts) or "not counted", ok and bool(parts))

    def one_address(self, name, counters):
        cycles = counters.active_s() * counters("lts__cycles_elapsed.avg.per_second")
        share = counters("lts__d_atomic_input_cycles_active.max") / cycles
        self._add(f"atomics on one address keep one slice busy ({name})", "90 to 105 %", f"{100 * share:.1f} % of L2's cycles",
                  0.9 <= share <= 1.05)

    def load_latency(self, name, counters):
        cycles = (counters("sm__inst_pending_pipe_lsu_mem_lg_cmd_read.sum") /
                  counters("sm__inst_executed_pipe_lsu_mem_lg_cmd_read.sum"))
        self._add(f"cycles pending for each load ({name})", "-", f"{cycles:.0f}", True)

    def l2_port(self, name, counters):
        port = counters("lts__lts2xbar_cycles_active.sum")
        per_cycle = counters("lts__t_sectors_srcunit_tex_op_read.sum") * SECTOR / port
        seconds = counters.active_s()
        busy = counters("lts__lts2xbar_cycles_active.max") / (seconds * counters("lts__cycles_elapsed.avg.per_second"))
        self._add(f"bytes read a cycle that a slice's port is active ({name})", "<= 64, +2 %",
                  f"{per_cycle:.1f}; the busiest port {100 * busy:.0f} % of the time", per_cycle <= 64 * 1.02)

    def stall_reasons(self, name, counters):
        stalled = counters.starting("smsp__warps_issue_stalled_")
        active = counters("sm__warps_active.sum")
        share = (sum(stalled.values()) + counters("smsp__inst_executed.sum")) / active
        self._add(f"stall reasons ({len(stalled)}) and issue, of active warps ({name})", "<= 100 %, +2 %", f"{100 * share:.1f} %",
                  share <= 1.02)

    def clocks(self, name, counters):
        self._add(f"clocks ({name})", "-",
                  f"SM {counters('gpc__cycles_elapsed.avg.per_second') / 1e9:.3f}, L2 "
                  f"{counters('lts__cycles_elapsed.avg.per_second') / 1e9:.3f}, DRAM "
                  f"{counters('dram__cycles_elapsed.avg.per_second') / 1e9:.3f} GHz", True)

    def phi(self, name, ladder, counters):
        share = ladder["uncontended_ns"] / 1e9 / (counters("sm__cycles_active.avg") / counters("gpc__cycles_elapsed.avg.per_second"))
        self._add(f"uncontended share of active time ({name})", "-", f"{share:.3f}", True)

    def product(self, counters, least_bytes):
        tma = counters("smsp__sass_inst_executed_op_tma_ld.sum")
        sectors = counters("lts__t_sectors_srcunit_tex_op_read.sum")
        self._add("L2's traffic of SMs contains that of TMA (product)", f">= {least_bytes / 1e6:.0f} MB",
                  f"{sectors * SECTOR / 1e6:.0f} MB with {tma:.0f} TMA loads", tma > 0 and sectors * SECTOR >= least_bytes)
        stalled = sorted(counters.starting("smsp__warps_issue_stalled_").items(), key=lambda row: -row[1])
        self._add("what warps wait for (product: mostly for an mbarrier)", "-",
                  ", ".join(f"{metric.removeprefix('smsp__warps_issue_stalled_').removesuffix('.sum')} {value:.3g}"
                            for metric, value in stalled[:3]) or "not counted", True)
        if counters.has("l1tex__data_pipe_lsu_wavefronts.sum", "smsp__sass_data_bytes_mem_shared_op_gmma.sum"):
            self._add("wavefronts of L1 and bytes that wgmma reads (product)", "-",
                      f"{counters('l1tex__data_pipe_lsu_wavefronts.sum'):.4g} wavefronts, "
                      f"{counters('smsp__sass_data_bytes_mem_shared_op_gmma.sum'):.4g} bytes", True)


def rung_ns(ladder, number):
    return next((row.get("at_least_ns") for row in ladder.get("rung", []) if row["rung"].startswith(f"RUNG_R{number}_")), None)


def placebo(time_ns, other):
    """Why the ladder `other`, of another kernel, does not explain `time_ns`; empty: it seems to.

    Closure of the mixed ladder follows from its own. What is left unexplained by the other kernel's own ladder stands for that
    of the mixed one, whose time is the same within closure: the full rules could only find more pairs out.
    """
    # From below: R4 is the highest bound.
    for number in (1, 2, 3, 4):
        bound = rung_ns(other, number)
        if bound is not None and bound > time_ns:
            return "violation"
    closure = other.get("closure_ns")
    if closure is not None:
        closure += time_ns - other["time_ns"]
        if abs(closure) > max(CLOSURE_RATIO * time_ns, CLOSURE_NS):
            return "closure"
    if other.get("other_regime") or other.get("unexplained_ns", 0) >= NOT_EXPLAINED * time_ns:
        return "unexplained"
    return ""


def check_placebos(rows, label, ladders, table):
    """ladders: {kernel: ladder}. Ladders that do not hold for their own kernel are left out."""
    sound = {name: ladder for name, ladder in ladders.items() if "violation" not in ladder and not ladder.get("other_regime")}
    counts = {"violation": 0, "closure": 0, "unexplained": 0, "": 0}
    for timed, own in sound.items():
        for counted, other in sound.items():
            if timed != counted:
                found = placebo(own["time_ns"], other)
                counts[found] += 1
                table.append((timed, counted, f"{own['time_ns']:.0f}", f"{other['time_ns']:.0f}", found or "explained"))
    total = sum(counts.values())
    share = (total - counts[""]) / total if total else 0
    rows.add(f"{label}: placebo: pairs found out", f">= {100 * PLACEBO_SHARE:.0f} %",
             f"{100 * share:.1f} % of {total} (violation {counts['violation']}, closure {counts['closure']}, unexplained "
             f"{counts['unexplained']})", len(sound) >= LEAST_PLACEBOS and share >= PLACEBO_SHARE)


# What needs which case; each is asked with the metrics that it reads.
_ACTIVE = ("sm__cycles_active.max", "gpc__cycles_elapsed.avg.per_second")
_L2_CLOCK = "lts__cycles_elapsed.avg.per_second"
_PORT = ("lts__lts2xbar_cycles_active.sum", "lts__lts2xbar_cycles_active.max", "lts__t_sectors_srcunit_tex_op_read.sum", _L2_CLOCK)
_PENDING = ("sm__inst_pending_pipe_lsu_mem_lg_cmd_read.sum", "sm__inst_executed_pipe_lsu_mem_lg_cmd_read.sum")
# Of split_k's defect (kernels/pairs/split_k.cu).
_BLOCKS = 12


def device_sms(report):
    for process in report.get("process", []):
        for device in process.get("device", []):
            if "multiprocessor_count" in device:
                return int(device["multiprocessor_count"])
    raise ValueError("the trace does not say how many SMs the device has")


def check_facts(rows, label, cases, report):
    """cases: {name: report_json.Case}; report: of any of them, for the device."""
    facts = Facts(rows, label)

    def ask(what, bar, case, needs, question):
        signatures = cases[case].signatures if case in cases else []
        counters = Counters(signatures[0]) if signatures else None
        if counters is None or not counters.has(*needs):
            facts.lacks(what, bar, case)
        else:
            question(case, counters)

    ask("mean active cycles count idle SMs", "a check", "split_k_defect", ("sm__cycles_active.avg",) + _ACTIVE,
        lambda name, counters: facts.idle_sms(name, counters, _BLOCKS, device_sms(report)))
    for case in ("atomics_defect", "stride_defect", "stride_cure"):
        ask("busiest instance over the mean", ">= 1", case, (), facts.instances)
    ask("atomics on one address keep one slice busy", "a check", "atomics_defect",
        ("lts__d_atomic_input_cycles_active.max", _L2_CLOCK) + _ACTIVE, facts.one_address)
    for case in ("chase_defect", "chase_cure", "occupancy_defect"):
        ask("cycles pending for each load", "-", case, _PENDING, facts.load_latency)
    for case in ("stride_defect", "stride_cure", "misaligned_defect"):
        ask("bytes read a cycle that a slice's port is active", "<= 64", case, _PORT + _ACTIVE, facts.l2_port)
    for name, case in sorted(cases.items()):
        for signature in case.signatures[:1]:
            counters = Counters(signature)
            if counters.has("sm__warps_active.sum", "smsp__inst_executed.sum") and counters.starting("smsp__warps_issue_stalled_"):
                facts.stall_reasons(name, counters)
            ladder = signature.get("ladder", {})
            if "uncontended_ns" in ladder and counters.has("sm__cycles_active.avg", _ACTIVE[1]):
                facts.phi(name, ladder, counters)
            if counters.has(_ACTIVE[1], _L2_CLOCK, "dram__cycles_elapsed.avg.per_second"):
                facts.clocks(name, counters)


def check_product(rows, label, report, side, element_bytes):
    # The heaviest kernel that loads through TMA.
    heavy = sorted(report.get("signature", []), key=lambda signature: -int(signature["timing"].get("total_ns", 0)))
    needs = ("smsp__sass_inst_executed_op_tma_ld.sum", "lts__t_sectors_srcunit_tex_op_read.sum")
    for signature in heavy:
        counters = Counters(signature)
        if counters.has(*needs) and counters(needs[0]) > 0:
            Facts(rows, label).product(counters, 2 * side * side * element_bytes)
            return
    rows.add(f"{label}: L2's traffic of SMs contains that of TMA (product)", "a check", "no counted kernel with TMA loads", False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", required=True)
    parser.add_argument("--list", required=True)
    parser.add_argument("--analyze", required=True)
    parser.add_argument("--machine")
    parser.add_argument("--product", metavar="TRACE")
    parser.add_argument("--table", metavar="FILE")
    parser.add_argument("--label", default="ladder")
    parser.add_argument("--rows", metavar="FILE")
    arguments = parser.parse_args()
    rows, label = rows_module.Rows(arguments.rows), arguments.label
    try:
        with open(arguments.list, encoding="utf-8") as file:
            listed = json.load(file)
        reports = check_selftest.Reports(arguments.traces, arguments.analyze, arguments.machine)
        cases, ladders, report = {}, {}, {}
        for case in listed["cases"]:
            try:
                report = reports.find(case["name"], *(pair["pair"] for pair in case.get("pairs", [])))
            except ValueError as error:
                # The self-test has a row for it.
                print(error, file=sys.stderr)
                continue
            cases[case["name"]] = made = report_json.case_of(report, case["name"], case["kernels"])
            # One kernel a case: those of fusion's defect are alike.
            if made.signatures and "ladder" in made.signatures[0]:
                ladders[case["name"]] = made.signatures[0]["ladder"]
        check_facts(rows, label, cases, report)
        table = []
        check_placebos(rows, label, ladders, table)
        check_selftest.write_table(arguments.table, ("time of", "counters of", "ns", "ns", "found out by"), table)
        if arguments.product:
            check_product(rows, label, report_json.read(arguments.analyze, arguments.product, arguments.machine), 8192, 2)
    except (OSError, ValueError, KeyError) as error:
        rows.add(f"{label}: facts", "a comparison", f"{type(error).__name__}: {error}", False)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())
