# Tables and figures, and a target named after each study.


rule tables:
    input:
        selected=per_arm("results/refits/{study}/{dataset}/{arm}/selected.csv"),
        refits=per_arm(REFIT_FILE),
        domains=per_dataset("results/data/{dataset}/domain.json"),
        again=unless_recorded("results/tables/{study}/accuracy.csv"),
    output:
        expand(
            "results/tables/{{study}}/accuracy.{ending}",
            ending=["csv", "tex"],
        ),
        report(
            "results/tables/{study}/accuracy.md",
            caption="../report/accuracy.rst",
            category="{study}",
            labels={"table": "accuracy"},
        ),
        expand(
            "results/tables/{{study}}/selected_settings.{ending}",
            ending=["csv", "tex"],
        ),
        report(
            "results/tables/{study}/selected_settings.md",
            caption="../report/selected_settings.rst",
            category="{study}",
            labels={"table": "selected settings"},
        ),
    log:
        "logs/tables/{study}.log",
    benchmark:
        "benchmarks/tables/{study}.tsv"
    conda:
        ENVIRONMENT
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        study=study_file,
        folder=subpath(output[0], parent=True),
        contents=table_digest,
        digests=refit_digests,
        data=per_arm("results/data/{dataset}"),
    message:
        "Make the tables of {wildcards.study}"
    shell:
        "python -m privcurve.steps.tables --study {params.study} --selected {input.selected} "
        "--refits {input.refits} --digests {params.digests:q} --data {params.data} "
        "--output {params.folder} > {log} 2>&1"


rule learning_curves:
    input:
        lambda wildcards: f"results/tables/{STUDY_OF_FIGURE[wildcards.figure]}/accuracy.csv",
    output:
        "results/figures/{figure}.pdf",
        report(
            "results/figures/{figure}.png",
            caption="../report/learning_curves.rst",
            category=lambda wildcards: STUDY_OF_FIGURE[wildcards.figure],
            labels={"figure": "learning curves"},
        ),
        "results/figures/{figure}.csv",
    log:
        "logs/learning_curves/{figure}.log",
    benchmark:
        "benchmarks/learning_curves/{figure}.tsv"
    conda:
        ENVIRONMENT
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        study=lambda wildcards: os.path.relpath(
            STUDY_FOLDER / f"{STUDY_OF_FIGURE[wildcards.figure]}.yaml"
        ),
        stem=subpath(output[0], strip_suffix=".pdf"),
    message:
        "Draw {wildcards.figure}"
    shell:
        "python -m privcurve.steps.learning_curves --study {params.study} --accuracy {input} "
        "--output {params.stem} > {log} 2>&1"


for name in STUDIES:

    rule:
        name:
            name
        input:
            study_outputs(name),
