"""Rows of checks: printed as a table, and appended to a file for the summary of tools/device_test."""

import sys


class Rows:
    def __init__(self, rows_file=None):
        self._rows = []
        self._rows_file = rows_file

    def add(self, check, expected, got, ok):
        row = (str(check), str(expected), str(got), "ok" if ok else "NO")
        self._rows.append(row)
        if self._rows_file:
            # At once, so that rows survive whatever comes after.
            with open(self._rows_file, "a", encoding="utf-8") as file:
                file.write("\t".join(cell.replace("\t", " ").replace("\n", " ") for cell in row) + "\n")

    def equal(self, check, expected, got):
        self.add(check, expected, got, expected == got)

    def finish(self):
        """Prints the table; 0 if every row is ok and there is one, else 1."""
        print_table([("check", "bar", "figure", "ok")] + self._rows)
        return 0 if self._rows and all(row[3] == "ok" for row in self._rows) else 1


def print_table(rows, out=None):
    # Looked up now: a default of sys.stdout would be the one of import time.
    out = out or sys.stdout
    # A long cell may overhang rather than widen its column for all.
    widths = [max(min(len(row[i]), 64) for row in rows) for i in range(3)]
    for check, expected, got, ok in rows:
        print(f"{check:<{widths[0]}} | {got:<{widths[2]}} | {expected:<{widths[1]}} | {ok}", file=out)


# Rows whose figure is worth a line of its own in the summary.
_FIGURES = ("bytes per kernel record", "driver's occupancy", "PyTorch's profiler", "stdout", "exit code", "ncu's shapes",
            "launches missing", "recorded launch, from", "bytes of the trace", "us per launch", "us added", "ms of", "ms added",
            "known answers", "outside 3 %", "median and largest difference", "kernels that differ", "times cheaper",
            "seconds added", "largest change", "what-if", "planted terms", "share of cases", "of the time", "GPU time", "step time",
            "mean step", "own time", "is denied", "placebo")


def summarise(rows):
    """One row for each label, the rows that carry a figure, and every row that is not ok."""
    labels = {}
    for check, _, _, ok in rows:
        good, all_of_them = labels.get(check.split(":")[0], (0, 0))
        labels[check.split(":")[0]] = (good + (ok == "ok"), all_of_them + 1)
    short = [
        (label, f"all of {total}", f"{good} of {total} checks", "ok" if good == total else "NO")
        for label, (good, total) in labels.items()
    ]
    return short + [row for row in rows if row[3] != "ok" or any(figure in row[0] for figure in _FIGURES)]


def main():
    """rows.py FILE [--summary]: prints the rows of a file as a table; exit code 1 unless every row is ok."""
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = [tuple(line.rstrip("\n").split("\t")) for line in file if line.count("\t") == 3]
    print_table([("check", "bar", "figure", "ok")] + (summarise(rows) if "--summary" in sys.argv[2:] else rows))
    failed = sum(row[3] != "ok" for row in rows)
    print(f"{len(rows)} checks, {failed} not ok")
    return 0 if rows and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
