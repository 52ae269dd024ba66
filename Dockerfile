# All that `make report` needs in one image, environments included; docs/how-to/container.md says how to run it. The Python is that of
# the locks.
FROM python:3.11.13-slim-bookworm

# g++ links TVM's kernels and compiles for torch.compile; git names the commit in the records.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ git make \
    && rm -rf /var/lib/apt/lists/*

ENV PIP_NO_CACHE_DIR=1
WORKDIR /workflow
COPY Makefile ./
COPY envs envs
RUN make .venv/ready

COPY . .
RUN git config --system --add safe.directory /workflow \
    && .venv/bin/snakemake build_environments --cores 1 --configfile config/quick.yaml \
    && ! grep '"status": "failed"' results/environments/*.json \
    && { .venv/bin/python -m compileall -qq .environments .venv || true; } \
    && chmod -R a+rwX results .snakemake \
    && chmod a+rwX . .environments

# Any user can run it: what a run writes lies in /workflow and, as caches, in /tmp.
ENV HOME=/tmp PATH=/workflow/.venv/bin:$PATH
CMD ["make", "report"]
