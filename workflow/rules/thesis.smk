# What the thesis has beside its curves: Figure 5.1, Tables 5.2 to 5.4, A and B. All of it is
# made from one study; where that lacks something, there are none of these targets.
from types import SimpleNamespace

THESIS_STUDY = "smooth_boosting"
THESIS_ARMS = ["lazybb_1r~certified", "lazybb_1r~published"]
THESIS_DATASET = "adult"
THESIS_EPSILON, CARD_EPSILON = 1, 0.4
THESIS_LACK = what_study_lacks(
    THESIS_STUDY, THESIS_ARMS, THESIS_DATASET, [THESIS_EPSILON, CARD_EPSILON]
)
THESIS_DATASETS = [] if THESIS_LACK else STUDIES[THESIS_STUDY].datasets
if THESIS_LACK and THESIS_STUDY in config["studies"]:
    say_once(f"The thesis' other tables and figures are left out: {THESIS_LACK}")
THESIS_CURVES = [
    SimpleNamespace(study=THESIS_STUDY, dataset=dataset, arm=arm)
    for dataset in THESIS_DATASETS
    for arm in THESIS_ARMS
]
THESIS_PRINTED = os.path.relpath(Path(workflow.basedir) / "resources" / "thesis")
THESIS_FILE = os.path.relpath(STUDY_FOLDER / f"{THESIS_STUDY}.yaml")
THESIS_OUTPUTS = (
    [
        *expand(
            "results/tables/{table}.{ending}",
            table=["sparsity", "rademacher", "model_card", "thesis_comparison"],
            ending=["csv", "md", "tex"],
        ),
        *expand(
            "results/figures/{name}.{ending}",
            name=["advantage_and_margins", "model_card"],
            ending=["pdf", "png", "csv"],
        ),
    ]
    if THESIS_DATASETS
    else []
)
THESIS_BENCHMARKS = (
    [
        f"benchmarks/{rule}.tsv"
        for rule in [
            "advantage_and_margins",
            "rademacher",
            "sparsity",
            "model_card",
            "thesis_comparison",
        ]
    ]
    if THESIS_DATASETS
    else []
)

if THESIS_DATASETS:

    rule advantage_and_margins:
        input:
            data=f"results/data/{THESIS_DATASET}/encoded.npz",
            domain=f"results/data/{THESIS_DATASET}/domain.json",
            again=unless_recorded("results/figures/advantage_and_margins.csv"),
        output:
            "results/figures/advantage_and_margins.pdf",
            report(
                "results/figures/advantage_and_margins.png",
                caption="../report/advantage_and_margins.rst",
                category="thesis",
                labels={"figure": "advantage and margins"},
            ),
            "results/figures/advantage_and_margins.csv",
        log:
            "logs/advantage_and_margins.log",
        benchmark:
            "benchmarks/advantage_and_margins.tsv"
        conda:
            ENVIRONMENT
        resources:
            mem_mb=growing(1000),
            runtime=growing(10),
        params:
            study=THESIS_FILE,
            arms=THESIS_ARMS,
            folder=subpath(input.data, parent=True),
            seed=config["seed"],
            # The thesis' example: κ = 1/2, γ = 1/20, λ = γ/4, ε = 1, 10 runs.
            epsilon=THESIS_EPSILON,
            density=0.5,
            advantage=0.05,
            rounds=1000,
            runs=10,
            version=registry.entry("lazybb").version,
            stem=subpath(output[0], strip_suffix=".pdf"),
        message:
            "Draw the advantage of each round and the margins"
        shell:
            "python -m privcurve.steps.advantage --study {params.study} --arms {params.arms} "
            "--data {params.folder} --seed {params.seed} --epsilon {params.epsilon} "
            "--density {params.density} --advantage {params.advantage} --rounds {params.rounds} "
            "--runs {params.runs} --output {params.stem} > {log} 2>&1"

    rule rademacher:
        input:
            data=expand("results/data/{dataset}/encoded.npz", dataset=THESIS_DATASETS),
            domains=expand(
                "results/data/{dataset}/domain.json", dataset=THESIS_DATASETS
            ),
            selected=expand(
                f"results/refits/{THESIS_STUDY}/{{dataset}}/{{arm}}/selected.csv",
                dataset=THESIS_DATASETS,
                arm=THESIS_ARMS,
            ),
            accuracy=f"results/tables/{THESIS_STUDY}/accuracy.csv",
        output:
            "results/tables/rademacher.csv",
            report(
                "results/tables/rademacher.md",
                caption="../report/rademacher.rst",
                category="thesis",
                labels={"table": "Rademacher complexity"},
            ),
            "results/tables/rademacher.tex",
        log:
            "logs/rademacher.log",
        benchmark:
            "benchmarks/rademacher.tsv"
        conda:
            ENVIRONMENT
        resources:
            mem_mb=growing(1000),
            runtime=growing(10),
        params:
            study=THESIS_FILE,
            arms=THESIS_ARMS,
            folders=lambda wildcards, input: [Path(path).parent for path in input.data],
            seed=config["seed"],
            epsilon=THESIS_EPSILON,
            draws=2000,
            version=registry.entry("lazybb").version,
            stem=subpath(output[0], strip_suffix=".csv"),
        message:
            "Estimate the Rademacher complexity of 1-rules"
        shell:
            "python -m privcurve.steps.rademacher --study {params.study} --arms {params.arms} "
            "--selected {input.selected} --data {params.folders} --accuracy {input.accuracy} "
            "--seed {params.seed} --epsilon {params.epsilon} --draws {params.draws} "
            "--output {params.stem} > {log} 2>&1"

    rule sparsity:
        input:
            data=expand("results/data/{dataset}/encoded.npz", dataset=THESIS_DATASETS),
            domains=expand(
                "results/data/{dataset}/domain.json", dataset=THESIS_DATASETS
            ),
            refits=expand(
                f"results/refits/{THESIS_STUDY}/{{dataset}}/{{arm}}/cells.parquet",
                dataset=THESIS_DATASETS,
                arm=THESIS_ARMS,
            ),
        output:
            "results/tables/sparsity.csv",
            report(
                "results/tables/sparsity.md",
                caption="../report/sparsity.rst",
                category="thesis",
                labels={"table": "sparsity"},
            ),
            "results/tables/sparsity.tex",
        log:
            "logs/sparsity.log",
        benchmark:
            "benchmarks/sparsity.tsv"
        conda:
            ENVIRONMENT
        resources:
            mem_mb=growing(1000),
            runtime=growing(10),
        params:
            folders=[f"results/data/{one.dataset}" for one in THESIS_CURVES],
            digests=lambda wildcards: [refit_digest(one) for one in THESIS_CURVES],
            stem=subpath(output[0], strip_suffix=".csv"),
        message:
            "Count the features that models use"
        shell:
            "python -m privcurve.steps.sparsity --data {params.folders} --refits {input.refits} "
            "--digests {params.digests:q} --output {params.stem} > {log} 2>&1"

    rule model_card:
        input:
            data=f"results/data/{THESIS_DATASET}/encoded.npz",
            domain=f"results/data/{THESIS_DATASET}/domain.json",
            selected=expand(
                f"results/refits/{THESIS_STUDY}/{THESIS_DATASET}/{{arm}}/selected.csv",
                arm=THESIS_ARMS,
            ),
        output:
            "results/tables/model_card.csv",
            report(
                "results/tables/model_card.md",
                caption="../report/model_card.rst",
                category="thesis",
                labels={"table": "model card"},
            ),
            "results/tables/model_card.tex",
            "results/figures/model_card.pdf",
            report(
                "results/figures/model_card.png",
                caption="../report/model_card.rst",
                category="thesis",
                labels={"figure": "model card"},
            ),
            "results/figures/model_card.csv",
            votes="results/thesis/model_votes.csv",
        log:
            "logs/model_card.log",
        benchmark:
            "benchmarks/model_card.tsv"
        conda:
            ENVIRONMENT
        resources:
            mem_mb=growing(1000),
            runtime=growing(10),
        params:
            study=THESIS_FILE,
            arms=THESIS_ARMS,
            folder=subpath(input.data, parent=True),
            seed=config["seed"],
            epsilon=CARD_EPSILON,
            version=registry.entry("lazybb").version,
            table=subpath(output[0], strip_suffix=".csv"),
            figure=subpath(output[3], strip_suffix=".pdf"),
        message:
            "Write the card of a private model"
        shell:
            "python -m privcurve.steps.model_card --study {params.study} --arms {params.arms} "
            "--selected {input.selected} --data {params.folder} --seed {params.seed} "
            "--epsilon {params.epsilon} --table {params.table} --figure {params.figure} "
            "--votes {output.votes} > {log} 2>&1"

    rule thesis_comparison:
        input:
            printed=expand(
                f"{THESIS_PRINTED}/{{name}}.csv",
                name=[
                    "sparsity",
                    "settings",
                    "rademacher",
                    "model_card",
                    "model_accuracy",
                ],
            ),
            sparsity="results/tables/sparsity.csv",
            rademacher="results/tables/rademacher.csv",
            votes="results/thesis/model_votes.csv",
            selected=expand(
                f"results/refits/{THESIS_STUDY}/{{dataset}}/{{arm}}/selected.csv",
                dataset=THESIS_DATASETS,
                arm=THESIS_ARMS,
            ),
            domains=expand(
                "results/data/{dataset}/domain.json", dataset=THESIS_DATASETS
            ),
            cells=lambda wildcards: [
                path for one in THESIS_CURVES for path in shard_files(one)
            ],
        output:
            "results/tables/thesis_comparison.csv",
            report(
                "results/tables/thesis_comparison.md",
                caption="../report/comparison.rst",
                category="thesis",
                labels={"table": "comparison with the thesis"},
            ),
            "results/tables/thesis_comparison.tex",
        log:
            "logs/thesis_comparison.log",
        benchmark:
            "benchmarks/thesis_comparison.tsv"
        conda:
            ENVIRONMENT
        resources:
            mem_mb=growing(2000),
            runtime=growing(10),
        params:
            printed=lambda wildcards, input: Path(input.printed[0]).parent,
            study=THESIS_FILE,
            arms=[one.arm for one in THESIS_CURVES],
            folders=[f"results/data/{one.dataset}" for one in THESIS_CURVES],
            digests=lambda wildcards: [refit_digest(one) for one in THESIS_CURVES],
            seed=config["seed"],
            shards=lambda wildcards: [shard_count(one) for one in THESIS_CURVES],
            stem=subpath(output[0], strip_suffix=".csv"),
        message:
            "Compare the thesis' numbers with ours"
        shell:
            "python -m privcurve.steps.comparison --study {params.study} --arms {params.arms} "
            "--seed {params.seed} --data {params.folders} --digests {params.digests:q} "
            "--printed {params.printed} "
            "--sparsity {input.sparsity} --rademacher {input.rademacher} --votes {input.votes} "
            "--selected {input.selected} --shards {params.shards} --output {params.stem} "
            "> {log} 2>&1"
