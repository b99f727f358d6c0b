# Train PrivGAM's network from nothing (decoder/README.md). A checkout of the repository has these programs, the
# wheel has not; JAX comes from `make train`. The weights of the package do not change: decoder/export.py does that.
DECODER = HOME / "decoder"


rule simulate_tables:
    output:
        directory("results/decoder/tables"),
    log:
        "logs/decoder/tables.log",
    params:
        folder=DECODER,
    message:
        "Simulate 2,000 tables for the training of PrivGAM's network"
    shell:
        # The first command fails at once where JAX is missing.
        "(python {params.folder}/train.py --help > /dev/null "
        "&& python {params.folder}/tables.py {output} 0 2000) > {log} 2>&1"


# Snakemake deletes the outputs of a job that failed, so the state of the training is none: the next run goes on from it.
rule decoder:
    input:
        "results/decoder/tables",
    output:
        "results/decoder/decoder.npz",
    log:
        "logs/decoder/train.log",
    threads: 2
    resources:
        mem_mb=12000,
        runtime=60 * 24,
    params:
        folder=DECODER,
        state="results/decoder/state.pkl",
    message:
        "Train PrivGAM's network: about a day; progress in {log}, every 100 steps"
    shell:
        "(python {params.folder}/train.py {params.state} --pool {input} --steps 70000 --fall-from 60000 "
        "&& python {params.folder}/export.py {params.state} --output {output}) >> {log} 2>&1"
