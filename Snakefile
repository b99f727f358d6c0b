# From raw tables to privacy-accuracy curves.
#
#   snakemake --cores 8                                     the studies of config/config.yaml
#   snakemake --cores 4 results/figures/learning_curves.pdf one figure and what it needs
#   snakemake --cores 2 quickstart                          one study by name
from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/analysis.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/thesis.smk"


localrules:
    all,
    datasets_ready,


rule all:
    default_target: True
    input:
        [study_outputs(name) for name in config["studies"]],
        AUDIT_OUTPUTS if config["audit"] else [],
        THESIS_OUTPUTS if THESIS_STUDY in config["studies"] else [],
