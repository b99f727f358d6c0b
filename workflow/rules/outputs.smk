# Tables and figures: one rule an output, and a target named after each study. What an output
# reads, writes and depends on, it says itself (src/privcurve/outputs/).


def shown(request):
    """Return the files of an output; those that a reader wants to see go into the report."""
    page = {"category": request.study.name}
    if request.output.report_text:
        page["caption"] = str(request.output.report_text)
    for path in map(str, request.files.all):
        kind = {".md": "table", ".png": "figure"}.get(os.path.splitext(path)[1])
        named = {kind: request.key.replace("_", " ")}
        yield report(path, labels=named, **page) if kind else path


for request in PLAN.outputs.values():

    rule:
        name:
            request.target
        input:
            lambda wildcards, request=request: inputs(request),
        output:
            *shown(request),
        log:
            f"logs/{request.output.word}/{request.target}.log",
        benchmark:
            plan.benchmark(request)
        # Before any more training: when a study is trained, its tables are made.
        priority: 2
        localrule: request.output.local and PLAN.is_local("outputs")
        resources:
            mem_mb=grow_by_attempt(
                lambda wildcards, request=request: needs.output_memory(
                    request.output.memory, map(plan.description_of, request.reads.data)
                )
            ),
            runtime=grow_by_attempt(10),
        params:
            terms=lambda wildcards, request=request: json.dumps(
                PLAN.output_terms(request)
            ),
        message:
            f"Make {request.target}"
        shell:
            "python -m privcurve.workflow.job output {params.terms:q} > {log} 2>&1"


for name in dict.fromkeys([*PLAN.studies, *PLAN.refusals]):
    if name not in (*plan.RULES, *PLAN.outputs):

        rule:
            name:
                name
            input:
                ours.files_or_refusal(PLAN.refusals, name, PLAN.files_of([name])),


# Tables of a study that can't be read: a rule of one's own that takes them is told why, also where
# old ones are there, which Snakemake would take for raw files.
for name in PLAN.broken:

    rule:
        name:
            f"{name}_refused"
        input:
            ours.files_or_refusal(PLAN.refusals, name, []),
        output:
            f"results/tables/{name}/{{file}}",
            f"results/figures/{name}/{{file}}",
