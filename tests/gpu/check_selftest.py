"""The whole chain against what was planted: pairs of a defect and its cure, traced with counters and analysed.

  check_selftest.py check --traces DIR|FILE --list FILE --analyze PROGRAM [--machine FILE]
  check_selftest.py repeats --traces FILE --list FILE --analyze PROGRAM [--seconds S]

check: DIR holds PAIR.pb (both cases in one process) or CASE.pb; a FILE holds all cases. --list: what `gx-kernels --json --case
pairs` prints: what was expected before anything was measured. The rows that it makes:
  planted term    of all terms, the one that differs most between defect and cure
  what-if         the defect's time with its defect gone, as predicted, against the cure as measured
  cases           unexplained and weak shares, sums, violations
Pairs in held_out_pairs.txt, on which no rule is tuned, are scored with the others and apart.
A pair whose planted term is "algorithm" is analysed with its work, manifests/PAIR.textproto.
--table FILE gets a row a pair, --markdown FILE the same as a table for documents, --cases FILE a row a case, --texts DIR the
analyzer's text of each trace. --label TEXT goes before
each row, --rows FILE also gets the rows.

repeats: from the trace of a short run of all pairs, a line "CASE N" for each but those of `graph`: --repeat for S seconds.
"""

import argparse
import json
import os
import statistics
import sys

import report_json
import rows as rows_module

FOLDER = os.path.dirname(os.path.abspath(__file__))
HELD_OUT = os.path.join(FOLDER, "held_out_pairs.txt")
# PAIR.textproto: the work of that pair's cases (gx-analyze --manifest), without which there is no term "algorithm".
MANIFESTS = os.path.join(FOLDER, "manifests")

# The project's own bars.
WHAT_IF_MEDIAN = 0.15
WHAT_IF_WORST = 0.35
UNEXPLAINED_MEDIAN = 0.10
WEAK_MEDIAN = 0.20
# Doubles of a sum of sixteen terms.
SUM_TOLERANCE_NS = 0.01

# Enough for statistics of a slow kernel; and where launching takes longer than the kernel.
LEAST_REPEATS = 200
MOST_REPEATS = 200000

_NO_TERM = (None, "", "-")


def held_out_pairs(path=HELD_OUT):
    with open(path, encoding="utf-8") as file:
        return {line.strip() for line in file if line.strip() and not line.startswith("#")}


class Reports:
    """Reports of a folder or file of traces, each made once."""

    def __init__(self, traces, analyze, machine=None, texts=None):
        self._traces, self._analyze, self._machine, self._texts = traces, analyze, machine, texts
        self._made = {}

    def find(self, *names, manifest=None):
        """The report of the first trace of these names that exists; ValueError if none does. manifest: as report_json.read."""
        if not os.path.isdir(self._traces):
            return self._report(self._traces, manifest)
        for name in names:
            path = os.path.join(self._traces, f"{name}.pb")
            if os.path.isfile(path) and os.path.getsize(path):
                return self._report(path, manifest)
        raise ValueError(f"no trace {' or '.join(f'{name}.pb' for name in names)} in {self._traces}")

    def _report(self, path, manifest):
        key = (path, manifest)
        if key not in self._made:
            self._made[key] = report_json.read(self._analyze, path, self._machine, manifest=manifest)
            if self._texts and not manifest:
                name = os.path.splitext(os.path.basename(path))[0]
                with open(os.path.join(self._texts, f"{name}.txt"), "w", encoding="utf-8") as file:
                    file.write(report_json.text(self._analyze, path, self._machine))
        return self._made[key]


def changes(defect, cure):
    """[(term, defect less cure, ns)], the largest change of either sign first."""
    terms = set(defect.terms) | set(cure.terms)
    both = [(term, defect.terms.get(term, 0) - cure.terms.get(term, 0)) for term in terms]
    return sorted(both, key=lambda row: (-abs(row[1]), row[0]))


def microseconds(value):
    return f"{value / 1e3:.2f}"


def shares(case):
    return case.unexplained_ns / case.time_ns, case.weak_ns / case.time_ns


class Check:
    def __init__(self, rows, label, listed, reports, held_out):
        self._rows, self._label, self._reports, self._held_out = rows, label, reports, held_out
        self._kernels = {case["name"]: case["kernels"] for case in listed["cases"]}
        self._pairs = listed["pairs"]
        self._cases = {}
        self.table = []
        self.markdown = []
        # {pair: error}, and pairs whose planted term is, or is not, the largest change.
        self._errors, self._right, self._wrong = {}, [], []

    def _case(self, pair, name, with_manifest):
        key = (name, pair if with_manifest else None)
        if key not in self._cases:
            manifest = None
            if with_manifest:
                path = os.path.join(MANIFESTS, f"{pair}.textproto")
                if len(self._kernels[name]) != 1 or not os.path.isfile(path):
                    raise ValueError(f"the term algorithm needs one kernel a case and its work: {os.path.basename(path)}")
                manifest = (path, self._kernels[name][0])
            # A pair may be called as a case of another one.
            report = self._reports.find(name, pair, manifest=manifest)
            self._cases[key] = (report_json.case_of(report, name, self._kernels[name]), report)
        return self._cases[key]

    def run(self):
        for pair in self._pairs:
            try:
                self._pair(pair)
            except ValueError as error:
                self._rows.add(f"{self._label}: {pair['name']}: analysed", "a report", str(error)[:200], False)
                if pair.get("term") not in _NO_TERM:
                    self._wrong.append(pair["name"])
                self._add_markdown(pair, "not analysed")
        self._scores()
        self._case_shares()

    def _pair(self, pair):
        name = pair["name"]
        if pair.get("what_if") == "graph":
            # A finding of the run and no ladder: the run's own section.
            self._run_finding(pair)
            self._add_markdown(pair, "none: of the run", predicted="not compared")
            return
        with_manifest = pair.get("term") == "algorithm"
        defect, report = self._case(name, pair["defect"], with_manifest)
        cure, _ = self._case(name, pair["cure"], with_manifest)
        missing = defect.missing + cure.missing
        if missing:
            self._rows.add(f"{self._label}: {name}: ladders of defect and cure", "both", "; ".join(missing)[:300], False)
        planted = pair.get("term")
        ranked = changes(defect, cure) if not missing else []
        verdict = "-"
        if planted not in _NO_TERM and ranked:
            verdict = self._planted(name, planted, ranked, defect, cure)
        elif planted not in _NO_TERM:
            self._wrong.append(name)
        if pair.get("run_finding"):
            self._run_finding(pair)
        predicted, error = self._what_if(pair, defect, cure, report, bool(missing))
        self._add_markdown(pair, f"{ranked[0][0]} {microseconds(ranked[0][1])}" if ranked else "unmeasured", defect.time_ns,
                           predicted, cure.time_ns, error)
        self.table.append((
            name, "held out" if name in self._held_out else "", planted or "-", microseconds(defect.time_ns),
            microseconds(cure.time_ns), ranked[0][0] if ranked else "unmeasured", verdict, pair.get("what_if") or "-", predicted,
            error, "; ".join(f"{term} {value / 1e3:+.2f}" for term, value in ranked if abs(value) >= 1)))

    def _add_markdown(self, pair, largest, defect_ns=0, predicted="no prediction", cure_ns=0, error="-"):
        name, planted, change = pair["name"], pair.get("term"), pair.get("what_if")
        time_of = lambda ns: microseconds(ns) if ns else "-"
        self.markdown.append((
            name, "yes" if name in self._held_out else "",
            "-" if planted in _NO_TERM else planted + (" (missed)" if name in self._wrong else ""), largest,
            "-" if change in _NO_TERM else change, time_of(defect_ns), "-" if change in _NO_TERM else predicted, time_of(cure_ns), error))

    def _planted(self, name, planted, ranked, defect, cure):
        largest, value = ranked[0]
        own = dict(ranked).get(planted)
        is_right = largest == planted
        (self._right if is_right else self._wrong).append(name)
        figure = f"{largest} {value / 1e3:+.2f} us of {(defect.time_ns - cure.time_ns) / 1e3:+.2f}"
        if not is_right:
            figure += f"; {planted} {'absent' if own is None else f'{own / 1e3:+.2f}'}"
        self._rows.add(f"{self._label}: {name}: term with the largest change", planted, figure, is_right)
        return "ok" if is_right else "NO"

    def _what_if(self, pair, defect, cure, report, missing):
        name, change = pair["name"], pair.get("what_if")
        if change in _NO_TERM:
            return "no prediction", "-"
        time_ns = report_json.fused_time_ns(report, defect) if change == "fused" else defect.what_ifs.get(change)
        if time_ns is None or not cure.time_ns:
            why = "no ladder" if missing else defect.no_prediction.get(change, "not among its what-ifs")
            self._rows.add(f"{self._label}: {name}: what-if {change}", "a prediction", f"no prediction: {why}"[:200], False)
            return "no prediction", "-"
        error = time_ns / cure.time_ns - 1
        self._errors[name] = error
        self._rows.add(f"{self._label}: {name}: what-if {change}", f"within {100 * WHAT_IF_WORST:.0f} %",
                       f"{100 * error:+.1f} %: {microseconds(defect.time_ns)} us, predicted {microseconds(time_ns)}, measured "
                       f"{microseconds(cure.time_ns)}", abs(error) <= WHAT_IF_WORST)
        return microseconds(time_ns), f"{100 * error:+.1f} %"

    def _run_finding(self, pair):
        finding = {"launch_bound": "run.launch_bound", "fusable_neighbours": "run.fusable"}[pair["run_finding"]]
        try:
            ids = report_json.run_finding_ids(self._reports.find(pair["defect"], pair["name"]))
        except ValueError:
            # Left out of a run with counters, on purpose.
            if pair.get("term") in _NO_TERM and pair.get("what_if") == "graph":
                return
            raise
        self._rows.add(f"{self._label}: {pair['name']}: finding of the run", finding, ", ".join(ids) or "none", finding in ids)

    def _scores(self):
        for what, chosen in (("all", lambda name: True), ("tuned on", lambda name: name not in self._held_out),
                             ("held out", lambda name: name in self._held_out)):
            right = [name for name in self._right if chosen(name)]
            wrong = [name for name in self._wrong if chosen(name)]
            is_bar = what == "all"
            if right or wrong or is_bar:
                self._rows.add(f"{self._label}: planted terms found, {what}", "all of them" if is_bar else "-",
                               f"{len(right)} of {len(right) + len(wrong)}" + (f"; not {', '.join(wrong)}" if wrong else ""),
                               not is_bar or bool(right) and not wrong)
            errors = [abs(error) for name, error in self._errors.items() if chosen(name)]
            if errors or is_bar:
                self._rows.add(f"{self._label}: error of what-ifs, {what}",
                               f"median within {100 * WHAT_IF_MEDIAN:.0f} %" if is_bar else "-",
                               f"median {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %, {len(errors)} pairs"
                               if errors else "none", not is_bar or bool(errors) and statistics.median(errors) <= WHAT_IF_MEDIAN)

    def cases(self):
        """Each once: with a manifest and without, the same is left unexplained."""
        return list({name: case for (name, _), (case, _) in reversed(self._cases.items())}.values())[::-1]

    def scores(self):
        """Sentences for the table of all pairs."""
        found = f"Planted terms found: {len(self._right)} of {len(self._right) + len(self._wrong)}."
        parts = []
        for what, held_out in (("all", None), ("tuned on", False), ("held out", True)):
            errors = [abs(error) for name, error in self._errors.items() if held_out in (None, name in self._held_out)]
            if errors:
                parts.append(f"{what} {100 * statistics.median(errors):.1f} % and {100 * max(errors):.1f} % ({len(errors)} pairs)")
        return [found, f"Errors of predictions, median and worst: {', '.join(parts) or 'none'}."]

    def _case_shares(self):
        # Of incomplete ones nothing could be left unexplained.
        whole = [case for case in self.cases() if case.time_ns and not case.missing]
        for which, bar, index in (("unexplained", UNEXPLAINED_MEDIAN, 0), ("weak", WEAK_MEDIAN, 1)):
            values = sorted((shares(case)[index], case.name) for case in whole)
            figure = "no case with a ladder"
            if values:
                median = statistics.median(value for value, _ in values)
                figure = f"median {100 * median:.1f} %, worst {100 * values[-1][0]:.1f} % ({values[-1][1]}), {len(values)} cases"
            self._rows.add(f"{self._label}: {which} share of cases", f"median <= {100 * bar:.0f} %", figure,
                           bool(values) and median <= bar)
        if whole:
            worst = max(whole, key=lambda case: case.sum_error_ns)
            self._rows.add(f"{self._label}: terms sum to the time", f"within {SUM_TOLERANCE_NS} ns",
                           f"{worst.sum_error_ns:.4f} ns at most", worst.sum_error_ns <= SUM_TOLERANCE_NS)
        for case in whole:
            for violation in case.violations:
                self._rows.add(f"{self._label}: {case.name}: violation", "none", violation, False)
            if case.other_regime:
                self._rows.add(f"{self._label}: {case.name}: closure", "holds", "counted launches were in another regime", False)


def write_table(path, head, lines):
    if path:
        with open(path, "w", encoding="utf-8") as file:
            for line in [head] + lines:
                print(*line, sep="\t", file=file)


def write_markdown(path, made):
    if path:
        head = ("pair", "held out", "planted term", "largest change, us", "what-if", "defect, us", "predicted, us", "cure measured, us",
                "error")
        with open(path, "w", encoding="utf-8") as file:
            for line in [head, ("---",) * len(head)] + made.markdown:
                print(f"| {' | '.join(line)} |", file=file)
            print("", *made.scores(), sep="\n", file=file)


def check(arguments):
    rows = rows_module.Rows(arguments.rows)
    try:
        with open(arguments.list, encoding="utf-8") as file:
            listed = json.load(file)
        if arguments.texts:
            os.makedirs(arguments.texts, exist_ok=True)
        reports = Reports(arguments.traces, arguments.analyze, arguments.machine, arguments.texts)
        made = Check(rows, arguments.label, listed, reports, held_out_pairs())
        made.run()
        write_table(arguments.table,
                    ("pair", "held out", "planted", "defect us", "cure us", "largest change", "ok", "what-if", "predicted us",
                     "error", "changes, us"), made.table)
        write_markdown(arguments.markdown, made)
        cases = []
        for case in made.cases():
            part = shares(case) if case.time_ns and not case.missing else None
            terms = "; ".join(f"{term} {value / 1e3:.2f}" for term, value in
                              sorted(case.terms.items(), key=lambda row: -row[1]) if value >= 1)
            cases.append((case.name, microseconds(case.time_ns), f"{100 * part[0]:.1f} %" if part else "-",
                          f"{100 * part[1]:.1f} %" if part else "-", terms, "; ".join(case.missing + case.violations)))
        write_table(arguments.cases, ("case", "us", "unexplained", "weak", "terms, us", "missing, violations"), cases)
    except (OSError, ValueError, KeyError) as error:
        rows.add(f"{arguments.label}: self-test", "a comparison", f"{type(error).__name__}: {error}", False)
    return rows.finish()


def print_repeats(arguments):
    try:
        with open(arguments.list, encoding="utf-8") as file:
            listed = json.load(file)
        report = report_json.read(arguments.analyze, arguments.traces)
        kernels = {case["name"]: case["kernels"] for case in listed["cases"]}
        of_runs = {pair[role] for pair in listed["pairs"] if pair.get("what_if") == "graph" for role in ("defect", "cure")}
        for name in kernels:
            time_ns = report_json.case_of(report, name, kernels[name]).time_ns
            if name not in of_runs and time_ns > 0:
                print(name, max(LEAST_REPEATS, min(MOST_REPEATS, round(arguments.seconds * 1e9 / time_ns))))
        return 0
    except (OSError, ValueError, KeyError) as error:
        print(f"check_selftest.py: repeats: {error}", file=sys.stderr)
        return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("check", "repeats"))
    parser.add_argument("--traces", required=True)
    parser.add_argument("--list", required=True)
    parser.add_argument("--analyze", required=True)
    parser.add_argument("--machine")
    parser.add_argument("--table")
    parser.add_argument("--cases")
    parser.add_argument("--markdown")
    parser.add_argument("--texts")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--label", default="self-test")
    parser.add_argument("--rows", metavar="FILE")
    arguments = parser.parse_args()
    return print_repeats(arguments) if arguments.what == "repeats" else check(arguments)


if __name__ == "__main__":
    sys.exit(main())
