# `snakemake --cores 2` in this folder makes the figures and tables of config/config.yaml, in results/.
# What other targets there are: workflow/Snakefile. Settings: config/README.md. Sources: docs/architecture.md.
include: "workflow/Snakefile"


# What a plain `snakemake` makes: the first rule of an included file is no default.
rule default:
    default_target: True
    input:
        rules.all.input,
