# Rules about a run: `manifest` records versions and costs, `summary` counts runs, `prune` removes
# old files, and `stamp` checks that the present code trains stored runs to the same bits.


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


# Without an output, the rule is executed each time. Without an input, the rule starts no other job,
# so that `--nolock` is safe while another run holds the lock of the folder.
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


# Remove the result files of jobs that no study has any longer; the trained runs stay in
# results/store.
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


# Accept stored runs whose code was only moved or renamed since: train a sample again, and compare
# the bits.
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
