# The run as a whole: what it was made with and what it cost, how far it is, and whether its stored runs
# are what the present code would train.


rule manifest:
    input:
        ours.files_or_refusal(PLAN.refusals, "manifest", RUN_OUTPUTS),
    output:
        MANIFEST,
    log:
        "logs/manifest.log",
    localrule: True
    resources:
        mem_mb=grow_by_attempt(1000),
        runtime=grow_by_attempt(10),
    params:
        options=OF_RUN,
    message:
        "Write down versions, data, machine and cost of this run"
    shell:
        "python -m privcurve.workflow.job manifest {params.options} > {log} 2>&1"


# No output: runs whenever it is asked for. No input: asks for nothing, and no run that holds
# the folder's lock is in its way.
rule summary:
    log:
        "logs/summary.log",
    localrule: True
    params:
        cores=ours.jobs_at_once(workflow),
        options=OF_RUN,
    message:
        "Count what is done and what is left"
    shell:
        "python -m privcurve.workflow.job summary --cores {params.cores} {params.options} 2>&1 | tee {log}"


# Old files of jobs: results/store keeps what is trained.
rule prune:
    log:
        "logs/prune.log",
    localrule: True
    params:
        options=OF_RUN,
    message:
        "List and remove old files in results/cells"
    shell:
        "python -m privcurve.workflow.job prune {params.options} 2>&1 | tee {log}"


# For code that was only moved or renamed: a sample of what other code has trained is trained again.
rule stamp:
    log:
        "logs/stamp.log",
    localrule: True
    params:
        options=OF_RUN,
    message:
        "Train a sample of the runs again whose code has changed"
    shell:
        "python -m privcurve.workflow.job stamp {params.options} 2>&1 | tee {log}"
