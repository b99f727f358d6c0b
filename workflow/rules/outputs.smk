# Tables and figures: one rule an output, and a target named after each study. What an output
# reads, writes and depends on, it says itself (src/privcurve/outputs/).


def shown(asked):
    """Return the files of an output; those that a reader wants to see go into the report."""
    page = {
        "caption": f"../report/{asked.output.word}.rst",
        "category": asked.study.name,
    }
    for path in map(str, asked.files.all):
        kind = {".md": "table", ".png": "figure"}.get(os.path.splitext(path)[1])
        named = {kind: asked.key.replace("_", " ")}
        yield report(path, labels=named, **page) if kind else path


for asked in PLAN.outputs.values():

    rule:
        name:
            asked.target
        input:
            lambda wildcards, asked=asked: PLAN.inputs(asked),
            again=insides.unless(
                workflow,
                [*map(str, asked.files.all), str(asked.record)],
                lambda wildcards, asked=asked: PLAN.is_current(asked),
            ),
        output:
            *shown(asked),
            record=str(asked.record),
        log:
            f"logs/{asked.output.word}/{asked.target}.log",
        benchmark:
            plan.benchmark(asked)
        localrule: asked.output.local and PLAN.is_local("outputs")
        resources:
            mem_mb=growing(
                lambda wildcards, asked=asked: needs.to_make(
                    asked.output.memory, map(PLAN.describe, asked.reads.data)
                )
            ),
            runtime=growing(10),
        params:
            study=str(PLAN.files[asked.study.name]),
            word=asked.output.word,
            options=json.dumps(asked.options),
            seed=SEED,
            per_job=config["seconds_per_job"],
            digest=lambda wildcards, asked=asked: PLAN.digest(asked),
        message:
            f"Make {asked.target}"
        shell:
            "python -m privcurve.steps.output --study {params.study} --output {params.word} "
            "--options {params.options:q} --seed {params.seed} "
            "--seconds-per-job {params.per_job} --digest {params.digest} > {log} 2>&1"


for name in PLAN.studies:

    rule:
        name:
            name
        input:
            PLAN.files_of([name]),
