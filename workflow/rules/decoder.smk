# Train PrivGAM's network from random weights (decoder/README.md). Only a checkout of the repository
# has these programs, not the wheel; `make train` installs JAX. This rule does not change the
# weights of the package; decoder/export.py can.
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
        # Without JAX the first command fails at once.
        "(python {params.folder}/train.py --help > /dev/null "
        "&& python {params.folder}/tables.py {output} 0 2000) > {log} 2>&1"


# The state of the training is not an output, because Snakemake deletes the outputs of a failed job:
# the next run continues from the state.
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
