"""``python -m tests.mutation [SUBJECT …] [--number N] [--seed N] [--lines FILE] [--only TEXT]``: prints each mutant
that survives, and the table of ``docs/explanation/how-it-is-tested.md``.

The first run records which test executes which line, in FILE, and takes some 15 minutes for it; later runs read the
record. It is of the code as it was, so delete it after a change of a module or of a test.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.mutation import line_records
from tests.mutation.mutants import Mutant, mutants, sample
from tests.mutation.subjects import ROOT, SHARE, SUBJECTS, TESTS, Selection, modules
from tests.mutation.trials import Outcome, Trial, Trials

_HEAD = "| subject | mutants | tried | equivalent | killed | survived | of these explained | score |"


def main() -> int:
    """Runs the command. Returns 1 if a mutant survived that ``explained.toml`` does not list, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("subjects", nargs="*", choices=[*SUBJECTS, []], help="all without one")
    parser.add_argument("--number", type=int, default=100, help="of mutants of each subject")
    parser.add_argument("--seed", type=int, default=0, help="selects the mutants")
    parser.add_argument(
        "--lines", type=Path, default=ROOT / ".mutation-lines.json", help="the record of executed lines"
    )
    parser.add_argument("--budget", type=int, default=60, help="seconds of CPU that the tests of a mutant may take")
    parser.add_argument("--only", default="", help="mutants whose name contains this text, instead of a sample")
    parser.add_argument("--record", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ["REWRITER_TEST_SEED"] = str(SHARE)
    if options.record:
        return int(_run_pytest(line_records.Recorder(options.lines)))
    if not options.lines.exists():
        # In another process: this one is forked, and must have started no engine.
        command = [sys.executable, "-m", "tests.mutation", "--record", "--lines", str(options.lines)]
        subprocess.run(command, cwd=ROOT, check=False)
    return _tried(options)


def _tried(options: argparse.Namespace) -> int:
    explained = tomllib.loads((Path(__file__).parent / "explained.toml").read_text(encoding="utf-8"))
    equivalent, accepted = explained["equivalent"], explained["accepted"]
    pools: dict[str, list[Mutant]] = {}
    chosen: dict[str, list[Mutant]] = {}
    for subject in options.subjects or SUBJECTS:
        for path in modules(subject):
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
        pool = pools[subject] = [mutant for path in modules(subject) for mutant in mutants(path)]
        named = [mutant for mutant in pool if options.only in mutant.name]
        chosen[subject] = named if options.only else sample(pool, options.number, options.seed)
    trials: dict[str, Trial] = {}

    def show(trial: Trial) -> None:
        trials[trial.mutant.name] = trial
        is_explained = trial.mutant.name in accepted
        if trial.outcome is not Outcome.KILLED or options.only:
            place = f"{trial.mutant.path.relative_to(ROOT)}:{trial.mutant.line}"
            print(f"{trial.outcome.value}{' (explained)' * is_explained} {place}\n    {trial.mutant.name}", flush=True)

    run = [mutant for pool in chosen.values() for mutant in pool if mutant.name not in equivalent]
    _run_pytest(Trials(run, line_records.read(options.lines), options.budget, show))
    print(f"{_HEAD}\n{'| --- ' * _HEAD.count(' | ')}| --- |")
    survivors = 0
    for subject, pool in chosen.items():
        outcomes = Counter(trials[mutant.name].outcome for mutant in pool if mutant.name in trials)
        killed = outcomes[Outcome.KILLED]
        survived = outcomes[Outcome.SURVIVED] + outcomes[Outcome.NOT_REACHED]
        equal = len(pool) - killed - survived
        named = sum(mutant.name in accepted and trials[mutant.name].outcome is not Outcome.KILLED for mutant in pool)
        score = f"{100 * killed / (killed + survived):.1f} %" if killed + survived else "-"
        print(
            f"| {subject} | {len(pools[subject])} | {len(pool)} | {equal} | {killed} | {survived} | {named} | {score} |"
        )
        survivors += survived - named
    return int(survivors > 0)


def _run_pytest(plugin: object) -> int | pytest.ExitCode:
    return pytest.main(
        ["-q", "-W", "ignore", "-p", "no:cacheprovider", "-m", "", *TESTS], plugins=[Selection(), plugin]
    )


sys.exit(main())
