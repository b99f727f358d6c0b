# The audit: does any learner leak more than it claims? One job a private learner
# of this project; peers claim what others have proved, for neighbours of their own.


rule audit_learner:
    input:
        data=f"results/data/{AUDITED_DATASET}/encoded.npz",
        domain=f"results/data/{AUDITED_DATASET}/domain.json",
        again=unless_recorded("results/audit/{learner}.csv"),
    output:
        "results/audit/{learner}.csv",
    log:
        "logs/audit/{learner}.log",
    benchmark:
        "benchmarks/audit/{learner}.tsv"
    wildcard_constraints:
        learner="|".join(AUDITED_LEARNERS),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=growing(2000),
        runtime=growing(30),
    params:
        folder=subpath(input.data, parent=True),
        seed=config["seed"],
        digest=audit_digest,
    message:
        "Audit {wildcards.learner}"
    shell:
        "python -m privcurve.steps.audit --learner {wildcards.learner} --data {params.folder} "
        "--seed {params.seed} --output {output} > {log} 2>&1"


rule audit_tables:
    input:
        expand("results/audit/{learner}.csv", learner=AUDITED_LEARNERS),
    output:
        "results/tables/audit.csv",
        report(
            "results/tables/audit.md",
            caption="../report/audit.rst",
            category="audit",
            labels={"table": "audit"},
        ),
        "results/tables/audit.tex",
        "results/figures/audit.pdf",
        report(
            "results/figures/audit.png",
            caption="../report/audit.rst",
            category="audit",
            labels={"figure": "audit"},
        ),
        "results/figures/audit.csv",
    log:
        "logs/audit_tables.log",
    benchmark:
        "benchmarks/audit_tables.tsv"
    conda:
        ENVIRONMENT
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        table=subpath(output[0], strip_suffix=".csv"),
        figure=subpath(output[3], strip_suffix=".pdf"),
    message:
        "Put the audits of all learners together"
    shell:
        "python -m privcurve.steps.audit_tables --audits {input} --table {params.table} "
        "--figure {params.figure} > {log} 2>&1"


rule audit:
    input:
        AUDIT_OUTPUTS,
