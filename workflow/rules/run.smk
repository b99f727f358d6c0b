# The run as a whole: what it was made with and what it cost, and how far it is.

RUN_OUTPUTS = [
    *(path for name in config["studies"] for path in study_outputs(name)),
    *(AUDIT_OUTPUTS if config["audit"] else []),
    *(THESIS_OUTPUTS if THESIS_STUDY in config["studies"] else []),
]
# Those of training are too many for a command line; the program knows them.
RUN_BENCHMARKS = [
    *(
        f"benchmarks/prepare/{dataset}.tsv"
        for dataset in sorted(
            {d for name in config["studies"] for d in STUDIES[name].datasets}
        )
    ),
    *(f"benchmarks/tables/{name}.tsv" for name in config["studies"]),
    *(
        f"benchmarks/learning_curves/{STUDIES[name].figure}.tsv"
        for name in config["studies"]
    ),
    *(AUDIT_BENCHMARKS if config["audit"] else []),
    *(THESIS_BENCHMARKS if THESIS_STUDY in config["studies"] else []),
]


rule manifest:
    input:
        RUN_OUTPUTS,
    output:
        "results/manifest.json",
    log:
        "logs/manifest.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        folder=CONFIG_FOLDER,
        configuration=CONFIGURATION,
        benchmarks=RUN_BENCHMARKS,
    message:
        "Write down versions, data, machine and cost of this run"
    shell:
        "python -m privcurve.steps.manifest --config {params.folder} "
        "--configuration {params.configuration:q} --benchmarks {params.benchmarks} "
        "--output {output} > {log} 2>&1"


# No output: runs whenever it is asked for. No input: asks for nothing, and no run that holds
# the folder's lock is in its way.
rule summary:
    log:
        "logs/summary.log",
    conda:
        ENVIRONMENT
    params:
        folder=CONFIG_FOLDER,
        configuration=CONFIGURATION,
        cores=jobs_at_once(),
    message:
        "Count what is done and what is left"
    shell:
        "python -m privcurve.steps.summary --config {params.folder} "
        "--configuration {params.configuration:q} --cores {params.cores} 2>&1 | tee {log}"
