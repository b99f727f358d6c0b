# The audit tests whether a learner loses more privacy than it claims, with one job for each private
# learner. Learners of other libraries are audited only if a study requests it: their authors proved
# their claims, for their own neighbouring relations. The target `audit`, a table and a figure, is
# an output like the others (outputs.smk).


rule audit_learner:
    input:
        lambda wildcards: remake(
            [AUDITS / f"{wildcards.learner}.csv"],
            partial(PLAN.audit_is_current, wildcards.learner),
        ),
        # These inputs are functions, so that they are evaluated only if the audit is needed. They
        # raise an error if the study of the dataset cannot be read, which must not stop other
        # targets.
        data=lambda wildcards: f"results/data/{PLAN.audited_dataset}/encoded.npz",
        domain=lambda wildcards: f"results/data/{PLAN.audited_dataset}/domain.json",
    output:
        "results/audit/{learner}.csv",
    log:
        "logs/audit/{learner}.log",
    benchmark:
        "benchmarks/audit_learner/{learner}.tsv"
    wildcard_constraints:
        learner="|".join(auditable_learners()),
    resources:
        mem_mb=grow_by_attempt(
            lambda wildcards: needs.audit_memory(
                wildcards.learner, plan.description_of(PLAN.audited_dataset)
            )
        ),
        runtime=grow_by_attempt(30),
    params:
        dataset=lambda wildcards: PLAN.audited_dataset,
        options=reading.options(config, HOME, ["seed"]),
    message:
        "Audit {wildcards.learner}"
    shell:
        "python -m privcurve.workflow.job audit --learner {wildcards.learner} "
        "--dataset {params.dataset} {params.options} > {log} 2>&1"


# Check the contract of a user's own learner, once for each version of its file. The outputs of
# studies with the learner report the result.
rule try_contract:
    input:
        lambda wildcards: remake(
            [plan.own.contract_file(wildcards.learner)],
            partial(contracts.is_current, wildcards.learner),
        ),
    output:
        "results/contracts/{learner}.json",
    log:
        "logs/contract/{learner}.log",
    benchmark:
        "benchmarks/try_contract/{learner}.tsv"
    wildcard_constraints:
        learner="|".join(plan.own.names()) or "none",
    resources:
        mem_mb=grow_by_attempt(2000),
        runtime=grow_by_attempt(30),
    message:
        "Test the contract of {wildcards.learner}"
    shell:
        "python -m privcurve.workflow.job contract --learner {wildcards.learner} > {log} 2>&1"
