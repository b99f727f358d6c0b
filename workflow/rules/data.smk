# Encode the raw files of datasets as matrices of bins.


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
    # The data of all studies are prepared before any training, so that a missing file is reported
    # first.
    priority: 100
    localrule: PLAN.is_local("data")
    resources:
        mem_mb=memory(to_prepare),
        runtime=minutes(to_prepare),
    message:
        "Fetch, check and encode {wildcards.dataset}"
    shell:
        "python -m privcurve.workflow.job prepare --dataset {wildcards.dataset} > {log} 2>&1 && "
        # Show warnings to the user even though the job has succeeded.
        "{{ grep '^warning: ' {log} >&2 || true; }}"


# The training of a study waits until all its datasets are encoded, so that a missing file is
# reported before hours of training.
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
        # A change of these values repeats the check: they decide how many records each class needs.
        resampling=lambda wildcards: PLAN.studies[wildcards.study].resampling,
    message:
        "All datasets of {wildcards.study} are encoded"
    shell:
        "python -m privcurve.workflow.job ready --study {wildcards.study} {params.options} > {log} 2>&1"
