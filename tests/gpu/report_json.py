"""What gx-analyze says of a trace, for the checks: its JSON report, and a kernel's or a case's ladder as plain numbers."""

import dataclasses
import json
import re
import subprocess

# How the report calls the factors of excess work, and how pairs call them (kernels/pairs/README.md).
_FACTORS = {"uncoalesced": "uncoalesced", "bank conflicts": "conflicts", "spills": "spills", "divergence": "divergence",
            "write-back excess": "write_back_excess"}
_CAUSES = ("unfilled", "tail", "imbalance")


def read(analyze, trace, machine=None, timeout_s=120, manifest=None):
    """The report of one trace; ValueError where the analyzer does not make one.

    manifest: (file, kernel), of that kernel alone.
    """
    command = [analyze, "--no-report", "--format", "json", "--top", "0"]
    if machine:
        command += ["--machine", machine]
    if manifest:
        command += ["--manifest", manifest[0], "--kernel", rf"\b{re.escape(manifest[1])}\b"]
    done = subprocess.run(command + [trace], capture_output=True, text=True, timeout=timeout_s, check=False)
    # 1: made, but the trace lacks data, which is said in it.
    if done.returncode not in (0, 1):
        raise ValueError(f"gx-analyze {trace}: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def text(analyze, trace, machine=None, timeout_s=120):
    """The same for a person: the ladder's section."""
    command = [analyze, "--no-report", "--section", "ladder,counters", "--top", "0", "--wide"]
    if machine:
        command += ["--machine", machine]
    done = subprocess.run(command + [trace], capture_output=True, text=True, timeout=timeout_s, check=False)
    return done.stdout + done.stderr


def signatures_of(report, kernels):
    """Signatures of the report whose function is called one of `kernels`."""
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, kernels)) + r")\b")
    return [signature for signature in report.get("signature", []) if pattern.search(signature.get("name", ""))]


def terms_of(ladder):
    """{term: ns} of a ladder, unmeasured ones left out; None where something is stopped by a violation.

    Excess work is split into its factors. Uneven and idle SMs are one loss, told apart by cause; what is uneven and not of SMs
    (a slice of L2, a channel of DRAM) stays "uneven".
    """
    terms = {}
    for term in ladder.get("term", []):
        if "ns" in term:
            terms[term["kind"].removeprefix("KIND_").lower()] = term["ns"]
    if "excess" in terms:
        shares = ladder.get("excess", {}).get("share", [])
        whole = terms.pop("excess")
        for share in shares:
            name = _FACTORS.get(share["factor"], share["factor"])
            terms[name] = terms.get(name, 0) + share.get("ns", 0)
        # A violation may cut the step short.
        rest = whole - sum(share.get("ns", 0) for share in shares)
        if abs(rest) > 1:
            terms["excess"] = rest
    causes = ladder.get("idle_causes")
    if causes is not None:
        by_cause = {cause: causes.get(f"{cause}_ns", 0) for cause in _CAUSES}
        total = sum(by_cause.values())
        idle = terms.pop("idle", 0)
        terms["uneven"] = terms.get("uneven", 0) - max(0, total - idle)
        terms["idle"] = max(0, idle - total)
        terms.update(by_cause)
    return terms


def sum_error_ns(ladder):
    """How far the terms are from the time that they are of."""
    return abs(sum(term.get("ns", 0) for term in ladder.get("term", [])) - ladder["time_ns"])


@dataclasses.dataclass
class Case:
    """One run of a case: all of its kernels, one after another."""

    name: str
    time_ns: float = 0.0
    terms: dict = dataclasses.field(default_factory=dict)
    unexplained_ns: float = 0.0
    weak_ns: float = 0.0
    sum_error_ns: float = 0.0
    violations: list = dataclasses.field(default_factory=list)
    other_regime: bool = False
    # Why there is no ladder of some kernel.
    missing: list = dataclasses.field(default_factory=list)
    # {change: time with it}, of what-ifs with a prediction; and {change: why not}.
    what_ifs: dict = dataclasses.field(default_factory=dict)
    no_prediction: dict = dataclasses.field(default_factory=dict)
    signatures: list = dataclasses.field(default_factory=list)


def case_of(report, name, kernels):
    """The case's kernels together: sums over them of one round, weighted by how often each is launched in it."""
    case = Case(name)
    case.signatures = signatures_of(report, kernels)
    if not case.signatures:
        case.missing.append("no kernel of it in the trace")
        return case
    calls = [max(1, int(signature["timing"].get("call_count", 0))) for signature in case.signatures]
    weights = [max(1, round(count / min(calls))) for count in calls]
    for signature, weight in zip(case.signatures, weights):
        label = signature.get("short_name") or signature.get("name", "?")
        median = signature["timing"].get("median_ns")
        if median is None:
            case.missing.append(f"{label}: no timing")
            continue
        ladder = signature.get("ladder")
        case.time_ns += weight * (ladder["time_ns"] if ladder else median)
        if not ladder:
            samples = sum(int(group.get("sample_count", 0)) for group in signature.get("counter_group", []))
            case.missing.append(f"{label}: no ladder, {samples} samples, {signature['timing'].get('clean_count', 0)} clean timings")
            continue
        if any(term["kind"] == "KIND_WORK" for term in ladder.get("term", [])):
            case.missing.append(f"{label}: useful work was not counted")
        for term, value in terms_of(ladder).items():
            case.terms[term] = case.terms.get(term, 0) + weight * value
        case.unexplained_ns += weight * ladder.get("unexplained_ns", 0)
        case.weak_ns += weight * ladder.get("weak_ns", 0)
        case.sum_error_ns = max(case.sum_error_ns, sum_error_ns(ladder))
        if "violation" in ladder:
            violation = ladder["violation"]
            case.violations.append(f"{label}: {violation['rung'].removeprefix('RUNG_')} by {violation['ns'] / 1e3:.1f} us")
        case.other_regime |= ladder.get("other_regime", False)
    _add_what_ifs(case, weights)
    return case


def _add_what_ifs(case, weights):
    changes = {what_if["change"] for signature in case.signatures for what_if in signature.get("what_if", [])}
    for change in changes:
        total, predicted, reasons = 0.0, False, []
        for signature, weight in zip(case.signatures, weights):
            own = signature.get("ladder", {}).get("time_ns", signature["timing"].get("median_ns", 0))
            found = [what_if for what_if in signature.get("what_if", []) if what_if["change"] == change]
            if found and "time_ns" in found[0]:
                predicted = True
                own = found[0]["time_ns"]
            elif found:
                reasons.append(found[0].get("no_prediction", ""))
            total += weight * own
        if predicted:
            case.what_ifs[change] = total
        else:
            case.no_prediction[change] = "; ".join(reason for reason in reasons if reason) or "no reason is given"


def fused_time_ns(report, case):
    """The case with fusable neighbours of its own in one pass, as the run's section predicts; None where it says nothing."""
    every = report.get("signature", [])
    own = {index for index, signature in enumerate(every) if any(signature is kernel for kernel in case.signatures)}
    chains = [chain for process in report.get("process", [])
              for chain in process.get("run", {}).get("explanation", {}).get("fusable_chain", [])
              if chain.get("index") and own.issuperset(chain["index"]) and "fused_time_ns" in chain.get("saving", {})]
    if not chains:
        return None
    # The most valuable one comes first; what it does not reach stays.
    first = chains[0]
    calls = {index: max(1, int(every[index]["timing"].get("call_count", 0))) for index in own}
    rounds = min(calls.values())
    rest = sum(round(calls[index] / rounds) * every[index].get("ladder", {}).get("time_ns", every[index]["timing"].get("median_ns", 0))
               for index in own.difference(first["index"]))
    return first["saving"]["fused_time_ns"] + rest


def run_finding_ids(report):
    return [finding.get("id", "") for process in report.get("process", [])
            for finding in process.get("run", {}).get("explanation", {}).get("finding", [])]
