# Training: grids, what is selected in them, and the fresh trainings of that. A job is a method on a
# dataset, some ε of it, a part of one ε, or several small methods.


rule train:
    input:
        coded="results/data/{dataset}/encoded.npz",
        domain="results/data/{dataset}/domain.json",
        ready="results/data/ready/{study}.txt",
        cells=jobs_read,
    output:
        "results/cells/{study}/{dataset}/{part}.parquet",
    log:
        "logs/train/{study}/{dataset}/{part}.log",
    benchmark:
        "benchmarks/train/{study}/{dataset}/{part}.tsv"
    # Studies of few jobs first: their tables need not wait for large studies, whose stored
    # results take longer to read than a small study to train.
    priority: lambda wildcards: 1 / len(PLAN.jobs(wildcards.study).jobs)
    resources:
        mem_mb=memory(to_train),
        runtime=minutes(to_train),
    params:
        options=OF_STUDY,
        title=lambda wildcards: job(wildcards).title,
    message:
        "Train {params.title}"
    shell:
        "python -m privcurve.workflow.job train --study {wildcards.study} "
        "--dataset {wildcards.dataset} --part {wildcards.part:q} {params.options} > {log} 2>&1"
