# Train PrivGAM's network from random weights (decoder/README.md). Only a checkout of the repository
# has the programs of these rules, not the wheel; `make train` installs JAX. The rules do not replace
# the weights in the package; decoder/export.py can do that.
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
        # The first command fails at once if JAX is missing, before tables are simulated.
        "(python {params.folder}/train.py --help > /dev/null "
        "&& python {params.folder}/tables.py {output} 0 2000) > {log} 2>&1"


# The state of the training is not an output, as Snakemake deletes the outputs of a failed job. The
# state is kept, so that the next run continues from it.
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
