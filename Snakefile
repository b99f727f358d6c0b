# `snakemake` in this folder, and `module` from elsewhere: the workflow is workflow/Snakefile.
include: "workflow/Snakefile"
