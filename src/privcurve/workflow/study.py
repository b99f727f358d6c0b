"""Run a study quietly, and print a ranking of its learners (for ``make quickstart``)."""

from __future__ import annotations

import argparse
from pathlib import Path

from privcurve.numerals import amount
from privcurve.workflow import job

# Number of learners that a ranking shows.
SHOWN = 3
# Outputs whose files are printed at the end. The value is the word that is printed before the path
# of the file.
FILES = {"accuracy": "table", "learning_curves": "figure", "leaderboard": "page"}


def main() -> None:
    """Read the command line, run Snakemake, and print a ranking of learners for each dataset."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.workflow.study", description=__doc__)
    parser.add_argument("study", help="its name")
    parser.add_argument("--cores", default="all")
    parser.add_argument("--epsilon", type=amount, default=1.0, help="ε of the ranking")
    parser.add_argument("-v", "--verbose", action="store_true", help="show Snakemake's output")
    arguments = parser.parse_args()

    from privcurve.experiments import study as studies
    from privcurve.outputs.answers import rankings
    from privcurve.workflow import running
    from privcurve.workflow.plan import outputs_of
    from privcurve.workflow.reading import study_files

    log = running.LOGS / f"{arguments.study}.log"
    running.run(["--cores", arguments.cores, arguments.study], log, verbose=arguments.verbose)
    path = study_files({}, Path())[arguments.study]
    study = studies.load(path)
    outputs = {request.output.word: request for request in outputs_of(study, str(path))}
    for dataset in study.datasets if "accuracy" in outputs else ():
        (ranking,) = rankings(outputs, dataset, [arguments.epsilon])
        print(f"\n{dataset}: {ranking.sentence()}.")
        print("\n".join(ranking.lines(SHOWN)))
    print()
    for word, name in FILES.items():
        if word in outputs:
            files = outputs[word].files.all
            # Print the first file that readers can open (text, picture or page), or else the first
            # file.
            file = next(
                (path for path in files if path.suffix in (".md", ".png", ".html")), files[0]
            )
            print(f"{name + ':':<8}{file}")
    print(f"{'log:':<8}{log}")


if __name__ == "__main__":
    job.run(main)
