# From raw tables to privacy-accuracy curves.
#
#   snakemake --cores 8                                     the studies of config/config.yaml
#   snakemake --cores 4 results/figures/learning_curves.pdf one figure and what it needs
#   snakemake --cores 2 quickstart                          one study by name
#   snakemake --cores 2 papers                              every study of every paper
#   snakemake --cores 2 summary                             how far the studies are
from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/outputs.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/run.smk"


# On a cluster these run where Snakemake runs: nodes often have no way to the internet, and what
# takes seconds should not wait in a queue. Outputs say it of themselves.
localrules:
    all,
    papers,
    prepare,
    datasets_ready,
    manifest,
    summary,


onsuccess:
    for remark in PLAN.failed(STARTED):
        logger.warning(remark)


rule all:
    default_target: True
    input:
        RUN_OUTPUTS,
        MANIFEST,


rule papers:
    input:
        PLAN.files_of(PLAN.papers),
