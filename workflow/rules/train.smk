# Cross-validated grids, and fresh trainings of the selected settings; small ones share jobs.


rule train:
    input:
        data=coded("encoded.npz"),
        domain=coded("domain.json"),
        ready=ready,
        again=unless_done(SHARD_FILE, shard_digest),
    output:
        SHARD_FILE,
    log:
        "logs/train/{curve}/shard~{shard}-of-{shards}.log",
    benchmark:
        "benchmarks/train/{curve}/shard~{shard}-of-{shards}.tsv"
    resources:
        mem_mb=memory(to_train),
        runtime=minutes(to_train),
    params:
        study=study_file,
        dataset=dataset,
        arm=arm,
        digest=shard_digest,
        attempts=attempts,
        seed=SEED,
    message:
        "Train {params.arm} on {params.dataset} (shard {wildcards.shard} of {wildcards.shards})"
    shell:
        "python -m privcurve.steps.train --study {params.study} --dataset {params.dataset} "
        "--arm {params.arm} --shard {wildcards.shard} --shards {wildcards.shards} "
        "--digest {params.digest} --seed {params.seed} > {log} 2>&1"


rule refit:
    input:
        data=coded("encoded.npz"),
        domain=coded("domain.json"),
        ready=ready,
        again=unless_done(REFIT_FILE, refit_digest),
        cells=shard_files,
    output:
        selected="results/refits/{curve}/selected.csv",
        cells=REFIT_FILE,
    log:
        "logs/refit/{curve}.log",
    benchmark:
        "benchmarks/refit/{curve}.tsv"
    resources:
        mem_mb=memory(to_refit),
        runtime=minutes(to_refit),
    params:
        study=study_file,
        dataset=dataset,
        arm=arm,
        shards=lambda wildcards: curve(wildcards).shards,
        digest=refit_digest,
        attempts=attempts,
        seed=SEED,
    message:
        "Select settings of {params.arm} on {params.dataset} and train them afresh"
    shell:
        "python -m privcurve.steps.refit --study {params.study} --dataset {params.dataset} "
        "--arm {params.arm} --shards {params.shards} --digest {params.digest:q} "
        "--seed {params.seed} > {log} 2>&1"


# Of each bundle it is known what it makes: a rule of its own, without wildcards.
for bundle in PLAN.bundles:

    rule:
        name:
            bundle.rule
        input:
            again=insides.unless_all(workflow, bundle.files, bundle.is_done),
            data=[f"results/data/{name}/encoded.npz" for name in bundle.datasets],
            domains=[f"results/data/{name}/domain.json" for name in bundle.datasets],
            ready=f"results/data/ready/{bundle.study}.txt",
        output:
            list(map(str, bundle.outputs)),
        log:
            f"logs/train/{bundle.study}/{bundle.name}.log",
        benchmark:
            f"benchmarks/train/{bundle.study}/{bundle.name}.tsv"
        resources:
            mem_mb=memory(lambda wildcards, bundle=bundle: to_train_all(bundle)),
            runtime=minutes(lambda wildcards, bundle=bundle: to_train_all(bundle)),
        params:
            study=str(PLAN.files[bundle.study]),
            curves=bundle.arguments,
            digest=lambda wildcards, bundle=bundle: bundle.digest,
            attempts=lambda wildcards, bundle=bundle: list(
                map(failed_attempts, bundle.failures)
            ),
            seed=SEED,
        message:
            f"Train {len(bundle.curves)} small curves of {bundle.study} ({bundle.name})"
        shell:
            "python -m privcurve.steps.bundle --study {params.study} --curves {params.curves} "
            "--digest {params.digest} --seed {params.seed} > {log} 2>&1"
