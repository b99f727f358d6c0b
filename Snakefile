# From raw tables to privacy-accuracy curves.
#
#   snakemake --cores 8                                     the studies of config/config.yaml
#   snakemake --cores 4 results/figures/learning_curves.pdf one figure and what it needs
#   snakemake --cores 2 quickstart                          one study by name
#   snakemake --cores 2 papers                              every study of every paper
#   snakemake --cores 2 summary                             how far the studies are
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
