# Train the grids of hyperparameters, and train the selected settings afresh. A job trains one
# method on one dataset, or a part of these runs: some ε, or some of the runs at one ε. Methods that
# take little time share a job.


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
    # Studies with few jobs run first: otherwise their tables would wait while a large study reads
    # its stored results, which takes longer than a small training.
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
