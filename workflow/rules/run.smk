# Rules about a run: `manifest` records versions and costs, `summary` counts runs, `prune` removes old
# files, and `stamp` checks that the present code trains the same bits as stored runs have.


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


# As the rule has no output, it runs each time. As it has no input, it starts no other job, so that
# `--nolock` is safe while another run holds the lock of the folder.
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


# Remove files of jobs that no study needs any longer; the trained runs stay in results/store.
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


# Accept stored runs of code that was since only moved or renamed: train a sample of them again, and
# compare the bits.
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
