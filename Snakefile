# `snakemake` in this folder, and `module` from elsewhere: the workflow is workflow/Snakefile.
include: "workflow/Snakefile"


# Of what is included Snakemake takes no target for a plain `snakemake`.
if insides.is_main(workflow):
    workflow.default_target = "all"
