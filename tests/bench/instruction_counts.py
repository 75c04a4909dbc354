"""Instructions of the encoder, reader and importer paths, counted by callgrind, against instruction_counts.tsv.

  instruction_counts.py --program FILE --compiler "NAME VERSION" [--update]

Exit code: 0 no path takes more than 10 % over its figure, 1 one does, 77 nothing to compare with (said why).
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instruction_counts.tsv")
PATHS = ("encode", "read", "import")
MAX_RATIO = 1.10


def count(program, path, trace, folder):
    result = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + os.path.join(folder, path + ".out"), program, path, trace],
        capture_output=True, text=True, timeout=300)
    found = re.search(r"Collected\s*:\s*(\d+)", result.stderr)
    if result.returncode != 0 or not found:
        sys.exit(f"instruction_counts: {path}: expected a count, got exit code {result.returncode}:\n{result.stderr[-800:]}")
    return int(found.group(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("instruction_counts: skipped: valgrind is not installed")
        return 77
    build = f"{options.compiler} {platform.machine()}"
    known = {}
    if os.path.exists(TABLE):
        for line in open(TABLE):
            if not line.startswith("#"):
                compiler, path, instructions = line.rstrip("\n").split("\t")
                known[compiler, path] = int(instructions)
    if not options.update and not any(compiler == build for compiler, _ in known):
        print(f"instruction_counts: skipped: no figures for {build} in instruction_counts.tsv")
        return 77
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace.pb")
        for path in PATHS:
            instructions = count(options.program, path, trace, folder)
            before = known.get((build, path))
            known[build, path] = instructions if options.update else before
            ratio = instructions / before if before else float("nan")
            print(f"{path:8} {instructions:>14,} instructions, expected {before}, ratio {ratio:.3f}")
            if not options.update and not ratio <= MAX_RATIO:
                failed = True
                print(f"instruction_counts: {path}: more than {MAX_RATIO} times the committed figure: make it cheaper, or say why "
                      "in tests/bench/README.md and run with --update")
    if options.update:
        with open(TABLE, "w") as table:
            table.write("# compiler and machine\tpath\tinstructions of 300,000 launches and kernels\n")
            for (compiler, path), instructions in sorted(known.items()):
                table.write(f"{compiler}\t{path}\t{instructions}\n")
    return 1 if failed else 0


sys.exit(main())
