# Training: grids, what is selected in them, and the fresh trainings of that, a list of runs a job.


rule train:
    input:
        data=lambda wildcards: [
            f"results/data/{name}/{file}"
            for name in job(wildcards).datasets
            for file in ("encoded.npz", "domain.json")
        ],
        ready="results/data/ready/{study}.txt",
        cells=lambda wildcards: list(map(str, job(wildcards).reads)),
        # Of other data, or with trainings that failed.
        again=insides.unless(
            workflow,
            ["results/cells/{study}/{job}.parquet"],
            lambda wildcards: job(wildcards).is_done,
        ),
    output:
        "results/cells/{study}/{job}.parquet",
    log:
        "logs/train/{study}/{job}.log",
    benchmark:
        "benchmarks/train/{study}/{job}.tsv"
    # Studies of few jobs first: their tables need not wait for large studies, whose stored
    # results take longer to read than a small study to train.
    priority: lambda wildcards: 1 / len(PLAN.jobs(wildcards.study).jobs)
    resources:
        mem_mb=memory(to_train),
        runtime=minutes(to_train),
    params:
        study=lambda wildcards: str(PLAN.files[wildcards.study]),
        portions=lambda wildcards: [one.name for one in job(wildcards).portions],
        title=lambda wildcards: job(wildcards).title,
        seed=SEED,
    message:
        "Train {params.title}"
    shell:
        "python -m privcurve.steps.train --study {params.study} --portions {params.portions:q} "
        "--digest {wildcards.job} --seed {params.seed} > {log} 2>&1"
