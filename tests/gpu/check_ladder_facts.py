"""What the ladder of a kernel's time rests on: how counters behave, and that counters of another kernel explain nothing.

  check_ladder_facts.py --traces DIR|FILE --list FILE --analyze PROGRAM [--machine FILE] [--product TRACE]

Traces as check_selftest.py takes them, with counters "lean"; --product: of well_tuned.py, for what only a product on tensor
cores shows. A row is a check where a kernel of known behaviour decides it, else a figure. Placebo: the time of one kernel with
the counters of another one; such a pair has to violate a bound, to fail closure, or to leave 30 % and more unexplained.
--table FILE gets a line a pair of the placebo, --cases FILE a line a case. --label TEXT goes before each row, --rows FILE also gets the rows.
"""

import argparse
import json
import sys

import check_selftest
import machine_figures
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
    def __init__(self, rows, label, machine):
        self._rows, self._label, self._machine = rows, label, machine

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
        """How busy the slice is decides nothing: an operation is one cycle of input, and the next comes when it may."""
        busiest, total = counters("lts__d_atomic_input_cycles_active.max"), counters("lts__d_atomic_input_cycles_active.sum")
        cycles = counters.active_s() * counters("lts__cycles_elapsed.avg.per_second")
        operations = counters("smsp__sass_inst_executed_op_global_red.sum")
        self._add(f"atomics of a warp on one address ({name})", "all in one slice, a cycle of input each, +-1 %",
                  f"{100 * busiest / total:.1f} % in one, {busiest / operations:.3f} cycles; one every {cycles / operations:.2f} "
                  f"cycles of L2, so {100 * busiest / cycles:.1f} % busy",
                  abs(busiest / total - 1) <= 0.01 and abs(busiest / operations - 1) <= 0.01 and busiest <= cycles * 1.02)

    def load_latency(self, name, counters, level):
        """Of loads that few are pending beside, all answered by that level."""
        cycles = load_cycles(counters)
        unloaded = self._machine.l2_load_cycles if level == "L2" else self._machine.dram_load_cycles
        self._add(f"cycles pending for each load, {level} ({name})",
                  "-" if unloaded is None else f"{unloaded:.0f} of the machine file, +-10 %", f"{cycles:.0f}",
                  unloaded is None or abs(cycles / unloaded - 1) <= 0.1)

    def l2_port(self, name, counters):
        """A cycle counted is a sector; a slice counts up to two in a cycle of L2's clock."""
        port, slices = counters("lts__lts2xbar_cycles_active.sum"), counters(_SLICES)
        per_clock = counters("lts__lts2xbar_cycles_active.sum.peak_sustained") / slices
        bytes_each = counters("lts__t_sectors_srcunit_tex_op_read.sum") * SECTOR / port
        cycles = counters.active_s() * counters(_L2_CLOCK)
        figure = (f"{bytes_each * per_clock:.1f}; the busiest port takes "
                  f"{100 * counters('lts__lts2xbar_cycles_active.max') / (cycles * per_clock):.0f} % of that")
        sustained = self._machine.l2_bytes_per_second
        if sustained is not None:
            figure += f"; the machine file's {sustained / 1e12:.1f} TB/s are {sustained / slices / counters(_L2_CLOCK):.1f}"
        self._add(f"bytes that a slice's ports can give SMs in a cycle ({name})", "64 +-2 %", figure,
                  abs(bytes_each * per_clock / 64 - 1) <= 0.02)

    def over_cases(self, made):
        """made: [CaseFacts]."""
        for what, bar, pick, is_ok in (
                ("stall reasons and issue, of active warps", "<= 100 %, +2 %", lambda case: case.accounted, lambda value: value <= 1.02),
                ("uncontended share of active time (phi)", "-", lambda case: case.phi, lambda value: True)):
            found = sorted((pick(case), case.name) for case in made if pick(case) is not None)
            self._add(what, bar, f"{100 * found[0][0]:.1f} % ({found[0][1]}) to {100 * found[-1][0]:.1f} % ({found[-1][1]}), "
                      f"{len(found)} cases" if found else "not counted", bool(found) and is_ok(found[-1][0]))
        clocks = [case.clocks_hz for case in made if case.clocks_hz]
        ranges = [(min(values) / 1e9, max(values) / 1e9) for values in zip(*clocks)]
        self._add("clocks of L2 and DRAM are their own", "within 1 %",
                  ", ".join(f"{name} {low:.3f} to {high:.3f}" for name, (low, high) in zip(("SM", "L2", "DRAM"), ranges)) + " GHz"
                  if clocks else "not counted", bool(clocks) and all(high <= low * 1.01 for low, high in ranges[1:]))

    def product(self, counters, least_bytes, l2_clock_hz):
        loaded = counters("smsp__sass_data_bytes_mem_global_op_ld.sum") + counters("smsp__sass_data_bytes_mem_global_op_ldgsts.sum")
        tma = counters("smsp__sass_inst_executed_op_tma_ld.sum")
        read = counters("lts__t_sectors_srcunit_tex_op_read.sum") * SECTOR
        self._add("L2's traffic of SMs contains that of TMA (product)", f">= {least_bytes / 1e6:.0f} MB",
                  f"{read / 1e6:.0f} MB: {tma:.0f} TMA loads, {loaded / 1e6:.0f} MB by other loads", read - loaded >= least_bytes)
        stalled = {name.removeprefix("smsp__warps_issue_stalled_").removesuffix(".sum"): value
                   for name, value in counters.starting("smsp__warps_issue_stalled_").items()}
        active = counters("sm__warps_active.sum")
        shown = sorted(stalled.items(), key=lambda row: -row[1])[:4]
        # As many warps wait for a load as there are loads pending, at most.
        other = stalled.get("long_scoreboard", 0) - counters(_PENDING[0])
        self._add("warps waiting for an mbarrier show long_scoreboard (product)", ">= 5 % of active warps wait so for no load",
                  f"{100 * other / active:.1f} %; " + ", ".join(f"{name} {100 * value / active:.1f} %" for name, value in shown),
                  other >= 0.05 * active)
        read_bytes = counters("smsp__sass_data_bytes_mem_shared_op_gmma.sum")
        others = sum(counters.starting("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_").values())
        wavefronts = counters("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")
        self._add("L1's wavefronts hold what wgmma reads, 128 bytes each (product)", "+-2 %",
                  f"{wavefronts:.4g}: {read_bytes / 128:.4g} of wgmma, {others:.4g} of loads and stores",
                  read_bytes > 0 and abs((read_bytes / 128 + others) / wavefronts - 1) <= 0.02)
        own = counters(_L2_CLOCK)
        self._add("L2's clock where power holds the SMs' (product)", f"{l2_clock_hz / 1e9:.3f} GHz, as of the pairs, +-1 %",
                  f"{own / 1e9:.3f} GHz, SM {counters(_ACTIVE[1]) / 1e9:.3f}", abs(own / l2_clock_hz - 1) <= 0.01)


def load_cycles(counters):
    return counters(_PENDING[0]) / counters(_PENDING[1])


class CaseFacts:
    """What each counted case says; None: not counted."""

    def __init__(self, name, signature):
        counters = Counters(signature)
        self.name = name
        self.accounted = self.phi = self.clocks_hz = self.load_cycles = None
        self.reason_count = len(counters.starting("smsp__warps_issue_stalled_"))
        if self.reason_count and counters.has("sm__warps_active.sum", "smsp__inst_executed.sum"):
            self.accounted = ((sum(counters.starting("smsp__warps_issue_stalled_").values()) + counters("smsp__inst_executed.sum")) /
                              counters("sm__warps_active.sum"))
        uncontended_ns = signature.get("ladder", {}).get("uncontended_ns")
        if uncontended_ns is not None and counters.has("sm__cycles_active.avg", _ACTIVE[1]):
            self.phi = uncontended_ns / 1e9 / (counters("sm__cycles_active.avg") / counters(_ACTIVE[1]))
        if counters.has(*_CLOCKS):
            self.clocks_hz = tuple(counters(clock) for clock in _CLOCKS)
        if counters.has(*_PENDING) and counters(_PENDING[1]) > 0:
            self.load_cycles = load_cycles(counters)

    HEAD = ("case", "reasons and issue", "reasons", "phi", "SM GHz", "L2 GHz", "DRAM GHz", "cycles pending a load")

    def line(self):
        share = lambda value: "-" if value is None else f"{100 * value:.1f} %"
        return (self.name, share(self.accounted), self.reason_count, share(self.phi),
                *(f"{hz / 1e9:.3f}" for hz in self.clocks_hz or ()), *(["-"] * (0 if self.clocks_hz else 3)),
                "-" if self.load_cycles is None else f"{self.load_cycles:.0f}")


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
    alike = [0, 0]
    for timed, own in sound.items():
        for counted, other in sound.items():
            if timed != counted:
                found = placebo(own["time_ns"], other)
                counts[found] += 1
                if abs(own["time_ns"] - other["time_ns"]) <= max(CLOSURE_RATIO * own["time_ns"], CLOSURE_NS):
                    alike[0] += 1
                    alike[1] += bool(found)
                table.append((timed, counted, f"{own['time_ns']:.0f}", f"{other['time_ns']:.0f}", found or "explained"))
    total = sum(counts.values())
    share = (total - counts[""]) / total if total else 0
    rows.add(f"{label}: placebo: pairs found out", f">= {100 * PLACEBO_SHARE:.0f} %",
             f"{100 * share:.1f} % of {total} (violation {counts['violation']}, closure {counts['closure']}, unexplained "
             f"{counts['unexplained']})", len(sound) >= LEAST_PLACEBOS and share >= PLACEBO_SHARE)
    # What closure cannot tell apart.
    rows.add(f"{label}: placebo: pairs found out, of kernels that take as long within closure", "-", f"{alike[1]} of {alike[0]}", True)


# What needs which case; each is asked with the metrics that it reads.
_ACTIVE = ("sm__cycles_active.max", "gpc__cycles_elapsed.avg.per_second")
_L2_CLOCK = "lts__cycles_elapsed.avg.per_second"
_CLOCKS = (_ACTIVE[1], _L2_CLOCK, "dram__cycles_elapsed.avg.per_second")
# One a slice and cycle.
_SLICES = "lts__d_atomic_input_cycles_active.sum.peak_sustained"
_PORT = ("lts__lts2xbar_cycles_active.sum", "lts__lts2xbar_cycles_active.max", "lts__lts2xbar_cycles_active.sum.peak_sustained",
         "lts__t_sectors_srcunit_tex_op_read.sum", _L2_CLOCK, _SLICES)
_PENDING = ("sm__inst_pending_pipe_lsu_mem_lg_cmd_read.sum", "sm__inst_executed_pipe_lsu_mem_lg_cmd_read.sum")
_ATOMICS = ("lts__d_atomic_input_cycles_active.max", "lts__d_atomic_input_cycles_active.sum", _L2_CLOCK,
            "smsp__sass_inst_executed_op_global_red.sum")
_PRODUCT = ("smsp__sass_inst_executed_op_tma_ld.sum", "lts__t_sectors_srcunit_tex_op_read.sum",
            "smsp__sass_data_bytes_mem_global_op_ld.sum", "smsp__sass_data_bytes_mem_global_op_ldgsts.sum", "sm__warps_active.sum",
            "smsp__sass_data_bytes_mem_shared_op_gmma.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum") + _PENDING + _CLOCKS
# Of split_k's defect (kernels/pairs/split_k.cu).
_BLOCKS = 12


def device_sms(report):
    for process in report.get("process", []):
        for device in process.get("device", []):
            count = device.get("limits", {}).get("multiprocessor_count")
            if count is not None:
                return int(count)
    raise ValueError("the trace does not say how many SMs the device has")


def check_facts(rows, label, cases, report, machine):
    """cases: {name: report_json.Case}; report: of any of them, for the device. The facts of each case."""
    facts = Facts(rows, label, machine)

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
    ask("atomics of a warp on one address", "a check", "atomics_defect", _ATOMICS + _ACTIVE, facts.one_address)
    # One load at a time, through a table larger than L2; one a thread, of an array that stays in L2.
    for case, level in (("chase_defect", "DRAM"), ("occupancy_defect", "DRAM"), ("tail_defect", "L2")):
        ask(f"cycles pending for each load, {level}", "a check", case, _PENDING,
            lambda name, counters, level=level: facts.load_latency(name, counters, level))
    for case in ("stride_defect", "stride_cure", "misaligned_defect"):
        ask("bytes that a slice's ports can give SMs in a cycle", "64", case, _PORT + _ACTIVE, facts.l2_port)
    made = [CaseFacts(name, case.signatures[0]) for name, case in sorted(cases.items()) if case.signatures]
    facts.over_cases(made)
    return made


def check_product(rows, label, report, machine, l2_clock_hz, side, element_bytes):
    # The heaviest kernel that loads through TMA.
    heavy = sorted(report.get("signature", []), key=lambda signature: -int(signature["timing"].get("total_ns", 0)))
    for signature in heavy:
        counters = Counters(signature)
        if counters.has(*_PRODUCT) and counters(_PRODUCT[0]) > 0:
            Facts(rows, label, machine).product(counters, 2 * side * side * element_bytes, l2_clock_hz)
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
    parser.add_argument("--cases", metavar="FILE")
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
        machine = machine_figures.of_report(report, arguments.machine)
        made = check_facts(rows, label, cases, report, machine)
        check_selftest.write_table(arguments.cases, CaseFacts.HEAD, [case.line() for case in made])
        table = []
        check_placebos(rows, label, ladders, table)
        check_selftest.write_table(arguments.table, ("time of", "counters of", "ns", "ns", "found out by"), table)
        l2_clocks = sorted(case.clocks_hz[1] for case in made if case.clocks_hz)
        if arguments.product and l2_clocks:
            check_product(rows, label, report_json.read(arguments.analyze, arguments.product, arguments.machine), machine,
                          l2_clocks[len(l2_clocks) // 2], 8192, 2)
    except (OSError, ValueError, KeyError) as error:
        rows.add(f"{label}: facts", "a comparison", f"{type(error).__name__}: {error}", False)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())
