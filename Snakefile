# From raw tables to privacy-accuracy curves.
#
#   snakemake --cores 8                                      the studies of config/config.yaml
#   snakemake results/figures/learning_curves.pdf --cores 4  one figure and what it needs
#   snakemake quickstart --cores 2                           one study by name
#   snakemake papers --cores 2                               every study of every paper
#   snakemake summary --cores 2                              how far the studies are
from snakemake.utils import min_version

min_version("9.27.1")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/outputs.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/run.smk"


onsuccess:
    for remark in PLAN.failed(STARTED):
        logger.warning(remark)


rule all:
    default_target: insides.is_main(workflow)
    input:
        RUN_OUTPUTS,
        MANIFEST,


rule papers:
    input:
        PLAN.files_of(PLAN.papers),
