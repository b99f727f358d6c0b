"""Show a mutation by its number:  python tests/fuzz/show.py dataset 123  (or: study 45)."""

import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "reference"), str(HERE.parent / "workflow")]

from mutations import mutation  # noqa: E402
from oracle import coded, faults_of  # noqa: E402
from studies import faults_of_study, message_of, study_mutation  # noqa: E402


def main():
    kind, number = sys.argv[1], int(sys.argv[2])
    os.chdir(tempfile.mkdtemp())
    if kind == "study":
        study = study_mutation(number)
        Path("mine.yaml").write_bytes(study.data)
        print(study, study.data.decode(), sep="\n\n")
        print("the program:", message_of(Path.cwd()) or "accepted")
        faults = faults_of_study(Path.cwd(), study.names)
    else:
        one = mutation(number)
        one.case.write(Path.cwd())
        print(one, one.case.yaml, f"files are in {Path.cwd()}", sep="\n\n")
        print("the program:", coded()[1] or "accepted")
        faults = faults_of(one.case, one.names)
    print("\n".join(faults) or "as it must be")


if __name__ == "__main__":
    main()
