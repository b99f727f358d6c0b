# The tested set of packages, and the command:
#   docker build --tag privcurve .
#   docker run --rm --volume "$PWD:/tables" --user "$(id -u)" privcurve describe patients.csv --label sick
#   docker run --rm --volume "$PWD:/tables" --user "$(id -u)" --entrypoint snakemake privcurve \
#     quickstart --snakefile /opt/privcurve/workflow/Snakefile --configfile /opt/privcurve/config/config.yaml --cores 2
# Seeds are kept in the mounted folder, .privcurve-seeds: keep them as you keep the records.
FROM python:3.11-slim
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
# Compiled loops and fonts are cached where any user may write.
ENV NUMBA_CACHE_DIR=/tmp/numba MPLCONFIGDIR=/tmp/matplotlib HOME=/tmp PRIVCURVE_SEEDS=/tables/.privcurve-seeds
COPY locks/workflow.lock /opt/privcurve/
RUN python -m pip install --require-hashes --requirement /opt/privcurve/workflow.lock
COPY . /opt/privcurve/
RUN python -m pip install --no-deps --editable /opt/privcurve
WORKDIR /tables
ENTRYPOINT ["privcurve"]
