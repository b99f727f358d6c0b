# Rules about a run: the manifest records versions and cost, `summary` counts jobs, `prune` removes old
# files, and `stamp` checks that the present code trains the same bits as stored runs.


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
        "Record versions, data, machine and cost of this run"
    shell:
        "python -m privcurve.workflow.job manifest {params.options} > {log} 2>&1"


# Without an output, the rule runs each time. Without an input, it needs no other job, so that
# `--nolock` is safe during a run that holds the folder's lock.
rule summary:
    log:
        "logs/summary.log",
    localrule: True
    params:
        cores=ours.jobs_at_once(workflow),
        options=OF_RUN,
    message:
        "Count finished and open jobs"
    shell:
        "python -m privcurve.workflow.job summary --cores {params.cores} {params.options} 2>&1 | tee {log}"


# Remove old files of jobs; results/store keeps the trained runs.
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


# Accept stored runs after code was only moved or renamed: train a sample of them again and compare
# bits.
rule stamp:
    log:
        "logs/stamp.log",
    localrule: True
    params:
        options=OF_RUN,
    message:
        "Train a sample of the stored runs whose code has changed, and compare"
    shell:
        "python -m privcurve.workflow.job stamp {params.options} 2>&1 | tee {log}"
