"""What the analyzer says of a program that nobody planted anything in: is its time accounted for?

  check_explained.py --trace T --analyze PROGRAM [--machine FILE] [--well-tuned] [--text FILE] [--table FILE]

Asked of the whole run, weighted by time: that the terms of each ladder sum to its time, what is left unexplained, and how much
time lies in ladders that stop at a violation; each of those gets a row. --well-tuned: also that the heaviest product and the
heaviest other kernel are within 10 % of their roof, and which resource binds. --table FILE gets a row a signature.
--label TEXT goes before each row, --rows FILE also gets the rows.
"""

import argparse
import sys

import report_json
import rows as rows_module

# The project's own bars.
UNEXPLAINED = 0.20
VIOLATIONS = 0.05
ROOF = 0.90
SUM_TOLERANCE_NS = 0.01
# Kernels of a step that is not timed: weights and inputs are made by them.
_PRODUCT = ("gemm", "cutlass", "nvjet", "xmma")
# Warp-group products read their operands from shared memory: a tile may need as many cycles of it as of the tensor cores, and
# a few more for its result. Which of two binds that are so close is no statement.
TIED = 0.95
# What the busiest SM is busy with: {word of a resource's name: (metric, cycles of the SM a count)}.
_SM_BUSY = {"tensor": ("sm__pipe_tensor_cycles_active.max", 1 / 4), "L1/shared data": ("l1tex__data_pipe_lsu_wavefronts.max", 1)}


def kernel_ns(signature):
    return int(signature["timing"].get("total_ns", 0))


def short(signature):
    return (signature.get("short_name") or signature.get("name", "?"))[:60]


def rung(ladder, name):
    return next((row for row in ladder.get("rung", []) if row["rung"].startswith(f"RUNG_{name}_")), {})


def weighted(signatures):
    """(ns of kernels with a ladder, {figure: weighted ns}) of signatures, each ladder's shares times its kernels' time."""
    total, parts = 0.0, {"unexplained": 0.0, "weak": 0.0, "violation": 0.0, "other_regime": 0.0}
    for signature in signatures:
        ladder = signature.get("ladder")
        if not ladder or ladder.get("is_communication") or ladder["time_ns"] <= 0:
            continue
        ns = kernel_ns(signature)
        total += ns
        parts["unexplained"] += ns * ladder.get("unexplained_ns", 0) / ladder["time_ns"]
        parts["weak"] += ns * ladder.get("weak_ns", 0) / ladder["time_ns"]
        parts["violation"] += ns if "violation" in ladder else 0
        parts["other_regime"] += ns if ladder.get("other_regime") else 0
    return total, parts


def check_run(rows, label, signatures):
    everything = sum(kernel_ns(signature) for signature in signatures)
    counted, parts = weighted(signatures)
    if not counted:
        rows.add(f"{label}: ladders", "some", f"none of {len(signatures)} signatures", False)
        return
    ladders = [signature["ladder"] for signature in signatures if "ladder" in signature]
    worst = max(report_json.sum_error_ns(ladder) for ladder in ladders)
    rows.add(f"{label}: terms sum to the time", f"within {SUM_TOLERANCE_NS} ns", f"{worst:.4f} ns at most, {len(ladders)} ladders",
             worst <= SUM_TOLERANCE_NS)
    rows.add(f"{label}: GPU time with a ladder", "-", f"{100 * counted / everything:.1f} %, {len(ladders)} of {len(signatures)}", True)
    share = parts["unexplained"] / counted
    rows.add(f"{label}: GPU time unexplained", f"<= {100 * UNEXPLAINED:.0f} %", f"{100 * share:.1f} %", share <= UNEXPLAINED)
    rows.add(f"{label}: GPU time weak", "-", f"{100 * parts['weak'] / counted:.1f} %", True)
    rows.add(f"{label}: GPU time where closure fails", "-", f"{100 * parts['other_regime'] / counted:.1f} %", True)
    share = parts["violation"] / counted
    rows.add(f"{label}: GPU time in violations", f"<= {100 * VIOLATIONS:.0f} %", f"{100 * share:.1f} %", share <= VIOLATIONS)
    for signature in signatures:
        violation = signature.get("ladder", {}).get("violation")
        if violation:
            ladder = signature["ladder"]
            certain = {True: "certain", False: "possible"}.get(violation.get("certain"), "not known whether certain")
            name = violation["rung"].removeprefix("RUNG_")
            row = next((row for row in ladder.get("rung", []) if row["rung"] == violation["rung"]), {})
            rows.add(f"{label}: violation: {short(signature)}", "-",
                     f"{name} ({row.get('binding', '?')}) by {violation['ns']:.0f} of {ladder['time_ns']:.0f} ns, {certain}, "
                     f"{100 * kernel_ns(signature) / everything:.2f} % of GPU time", True)


def busy_shares(signature):
    """{word of a resource's name: counted cycles of the busiest SM over its active cycles}."""
    values = {}
    for group in signature.get("counter_group", []):
        for metric in group.get("metric", []):
            if "median" in metric:
                values.setdefault(metric["metric"], metric["median"])
    active = values.get("sm__cycles_active.max", 0)
    return {word: values[name] * cycles / active for word, (name, cycles) in _SM_BUSY.items() if name in values and active}


def binds(signature, binding, wanted):
    """(whether the wanted resource binds, or is as busy as the one that does; that in words)."""
    if wanted in binding:
        return True, binding
    shares = busy_shares(signature)
    if wanted not in shares or binding not in shares:
        return False, binding
    words = f"{binding} in {100 * shares[binding]:.1f} % of the busiest SM's cycles, {wanted} in {100 * shares[wanted]:.1f} %"
    return shares[wanted] >= TIED * shares[binding], words


def check_roof(rows, label, what, signatures, binding):
    if not signatures:
        rows.add(f"{label}: {what}: at its roof", "a kernel", "none in the trace", False)
        return
    signature = max(signatures, key=kernel_ns)
    ladder = signature.get("ladder")
    top = rung(ladder, "R5") if ladder else {}
    if "at_least_ns" not in top:
        rows.add(f"{label}: {what}: at its roof", f">= {100 * ROOF:.0f} %", f"{short(signature)}: no ladder to R5", False)
        return
    share = top["at_least_ns"] / ladder["time_ns"]
    rows.add(f"{label}: {what}: R5 of the time", f"{100 * ROOF:.0f} to {100 / ROOF:.0f} %", f"{100 * share:.1f} %, {short(signature)}",
             ROOF <= share <= 1 / ROOF)
    right, words = binds(signature, top.get("binding", "none"), binding)
    rows.add(f"{label}: {what}: binding resource", f"{binding}, or as busy", words, right)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", required=True)
    parser.add_argument("--analyze", required=True)
    parser.add_argument("--machine")
    parser.add_argument("--well-tuned", action="store_true")
    parser.add_argument("--text", metavar="FILE")
    parser.add_argument("--table", metavar="FILE")
    parser.add_argument("--label", default="explained")
    parser.add_argument("--rows", metavar="FILE")
    arguments = parser.parse_args()
    rows, label = rows_module.Rows(arguments.rows), arguments.label
    try:
        signatures = report_json.read(arguments.analyze, arguments.trace, arguments.machine).get("signature", [])
        if arguments.text:
            with open(arguments.text, "w", encoding="utf-8") as file:
                file.write(report_json.text(arguments.analyze, arguments.trace, arguments.machine))
        if arguments.table:
            with open(arguments.table, "w", encoding="utf-8") as file:
                print("kernel", "us of the run", "us", "terms, us", sep="\t", file=file)
                for signature in sorted(signatures, key=kernel_ns, reverse=True):
                    ladder = signature.get("ladder", {})
                    terms = "; ".join(f"{term} {value / 1e3:.2f}" for term, value in report_json.terms_of(ladder).items() if value >= 1)
                    print(short(signature), f"{kernel_ns(signature) / 1e3:.1f}", f"{ladder.get('time_ns', 0) / 1e3:.2f}",
                          terms or "no ladder", sep="\t", file=file)
        check_run(rows, label, signatures)
        if arguments.well_tuned:
            is_product = [any(word in signature.get("name", "").lower() for word in _PRODUCT) for signature in signatures]
            check_roof(rows, label, "cuBLAS product", [s for s, yes in zip(signatures, is_product) if yes], "tensor")
            check_roof(rows, label, "element-wise pass", [s for s, yes in zip(signatures, is_product) if not yes and "neg" in s.get("name", "")], "dram")
    except (OSError, ValueError, KeyError) as error:
        rows.add(f"{label}: explained", "a report", f"{type(error).__name__}: {error}", False)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())
