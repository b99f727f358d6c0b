# Make tables, figures and other outputs: one rule for each kind of output. Each output declares
# which files it reads and writes (src/privcurve/outputs/).

for name, kind in PLAN.kinds.items():

    rule:
        name:
            name
        input:
            lambda wildcards, kind=kind: inputs(kind.request(wildcards)),
        output:
            *shown(kind),
        log:
            f"logs/{kind.output.word}/{kind.name}.log",
        benchmark:
            f"benchmarks/{kind.output.word}/{kind.name}.tsv"
        wildcard_constraints:
            name="|".join(map(re.escape, kind.requests)),
        # Outputs of a study have priority over the trainings of other studies.
        priority: 2
        localrule: kind.output.local and PLAN.is_local("outputs")
        resources:
            mem_mb=grow_by_attempt(
                lambda wildcards, kind=kind: needs.output_memory(
                    kind.output.memory,
                    map(plan.description_of, kind.request(wildcards).reads.data),
                )
            ),
            runtime=grow_by_attempt(10),
        params:
            target=lambda wildcards, kind=kind: kind.request(wildcards).target,
            options=lambda wildcards, kind=kind: options(kind.request(wildcards)),
        message:
            "Make {params.target}"
        shell:
            "python -m privcurve.workflow.job output {params.options} > {log} 2>&1"


# Names of studies and outputs are targets, too. A name gets a rule only if it is on the command
# line or in the configuration.
for name, files in PLAN.targets(sys.argv[1:]).items():

    rule:
        name:
            name
        input:
            ours.files_or_refusal(PLAN.refusals, name, files),


# If a user's own rule reads tables of a study whose file cannot be read, this rule stops the run
# with the reason. Without this rule, Snakemake would accept tables of an earlier run as raw files.
if PLAN.broken:

    rule refused:
        input:
            lambda wildcards: ours.files_or_refusal(
                PLAN.refusals, wildcards.broken, []
            )(wildcards),
        output:
            "results/tables/{broken}/{file}",
            "results/figures/{broken}/{file}",
        wildcard_constraints:
            broken="|".join(map(re.escape, PLAN.broken)),
