# Raw files to coded matrices.


rule prepare:
    input:
        local_files,
    output:
        "results/data/{dataset}/encoded.npz",
        "results/data/{dataset}/domain.json",
    log:
        "logs/prepare/{dataset}.log",
    benchmark:
        "benchmarks/prepare/{dataset}.tsv"
    # Of all studies, before any training: what is missing is said at once.
    priority: 100
    localrule: PLAN.is_local("data")
    resources:
        mem_mb=memory(to_prepare),
        runtime=minutes(to_prepare),
    message:
        "Fetch, check and code {wildcards.dataset}"
    shell:
        "python -m privcurve.workflow.job prepare --dataset {wildcards.dataset} > {log} 2>&1 && "
        # What the user should see though nothing failed.
        "{{ grep '^warning: ' {log} >&2 || true; }}"


# Training starts when every dataset of the study is there and has been coded without
# a fault: a missing file is reported before the first hour of training, not after it.
rule datasets_ready:
    input:
        coded=per_dataset("results/data/{dataset}/encoded.npz"),
        domains=per_dataset("results/data/{dataset}/domain.json"),
    output:
        "results/data/ready/{study}.txt",
    log:
        "logs/datasets_ready/{study}.log",
    priority: 100
    localrule: PLAN.is_local("data")
    resources:
        mem_mb=grow_by_attempt(1000),
        runtime=grow_by_attempt(10),
    params:
        options=OF_STUDY,
        # What decides whether a dataset will do.
        resampling=lambda wildcards: PLAN.studies[wildcards.study].resampling,
    message:
        "All datasets of {wildcards.study} are coded"
    shell:
        "python -m privcurve.workflow.job ready --study {wildcards.study} {params.options} > {log} 2>&1"
