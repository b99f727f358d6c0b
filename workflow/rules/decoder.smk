# Train PrivGAM's network from random weights (decoder/README.md). The programs of these rules are
# in a checkout of the repository, not in the wheel; `make train` installs JAX, which they need. The
# rules do not replace the weights in the package; decoder/export.py does that.
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
        # The first command fails at once if JAX is missing, before the long simulation of tables.
        "(python {params.folder}/train.py --help > /dev/null "
        "&& python {params.folder}/tables.py {output} 0 2000) > {log} 2>&1"


# The state of the training is not declared as an output, because Snakemake deletes the outputs of a
# failed job: the next run continues from the state.
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
