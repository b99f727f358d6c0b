# Cross-validated grids, and fresh trainings of the selected settings.


rule train:
    input:
        data="results/data/{dataset}/encoded.npz",
        domain="results/data/{dataset}/domain.json",
        ready="results/data/ready/{study}.txt",
        again=unless_current(SHARD_FILE, shard_digest),
    output:
        SHARD_FILE,
    log:
        "logs/train/{study}/{dataset}/{arm}/shard~{shard}-of-{shards}.log",
    benchmark:
        "benchmarks/train/{study}/{dataset}/{arm}/shard~{shard}-of-{shards}.tsv"
    conda:
        ENVIRONMENT
    resources:
        mem_mb=growing(1000),
        runtime=lambda wildcards, attempt: PLAN.minutes(
            curve(wildcards), int(wildcards.shard), attempt
        ),
    params:
        study=study_file,
        digest=shard_digest,
        attempts=attempts,
        seed=config["seed"],
    message:
        "Train {wildcards.arm} on {wildcards.dataset} "
        "(shard {wildcards.shard} of {wildcards.shards})"
    shell:
        "python -m privcurve.steps.train --study {params.study} --dataset {wildcards.dataset} "
        "--arm {wildcards.arm} --shard {wildcards.shard} --shards {wildcards.shards} "
        "--digest {params.digest} --seed {params.seed} --output {output} > {log} 2>&1"


rule refit:
    input:
        data="results/data/{dataset}/encoded.npz",
        domain="results/data/{dataset}/domain.json",
        ready="results/data/ready/{study}.txt",
        again=unless_current(REFIT_FILE, refit_digest),
        cells=shard_files,
    output:
        selected="results/refits/{study}/{dataset}/{arm}/selected.csv",
        cells=REFIT_FILE,
    log:
        "logs/refit/{study}/{dataset}/{arm}.log",
    benchmark:
        "benchmarks/refit/{study}/{dataset}/{arm}.tsv"
    conda:
        ENVIRONMENT
    resources:
        mem_mb=growing(1000),
        runtime=growing(60),
    params:
        study=study_file,
        shards=lambda wildcards: curve(wildcards).shards,
        digest=refit_digest,
        attempts=attempts,
        seed=config["seed"],
    message:
        "Select settings of {wildcards.arm} on {wildcards.dataset} and train them afresh"
    shell:
        "python -m privcurve.steps.refit --study {params.study} --dataset {wildcards.dataset} "
        "--arm {wildcards.arm} --shards {params.shards} --digest {params.digest:q} "
        "--seed {params.seed} "
        "--selected {output.selected} --output {output.cells} > {log} 2>&1"
