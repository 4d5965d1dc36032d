# The command line and the studio of tabpe, without a compiler and without root.
#
#   docker build -t tabpe .
#   docker run --rm --network none -v "$PWD:/work" --user "$(id -u):$(id -g)" tabpe \
#       synth patients.csv --schema schema.yaml --epsilon 1 -o synthetic.csv
#
#
#   docker run --rm -it --network host -v "$PWD:/work" -v tabpe-data:/data --user "$(id -u):$(id -g)" \
#       tabpe studio ward --no-browser
#
# `--build-arg EXTRAS=report,sql` chooses the extras, `PYTHON` the version of Python. The extra
# `studio` holds `report` and `sign`.
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
# Versions are those of the Debian release that the image stands on.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml CMakeLists.txt README.md LICENSE ./
COPY src src
ARG EXTRAS=studio
RUN python -m venv /opt/tabpe \
    && TABPE_REQUIRE_NATIVE=1 /opt/tabpe/bin/pip install --no-cache-dir ".[${EXTRAS}]" \
    && /opt/tabpe/bin/pip uninstall --yes pip

FROM python:${PYTHON}-slim
RUN useradd --create-home --uid 10001 tabpe && mkdir /work /data \
    && chown 10001 /work && chmod 1777 /data
COPY --from=build /opt/tabpe /opt/tabpe
# The ledger and the secret key of the user; mount a volume to keep them.
ENV PATH=/opt/tabpe/bin:$PATH XDG_DATA_HOME=/data PYTHONDONTWRITEBYTECODE=1
VOLUME /data
WORKDIR /work
USER 10001
ENTRYPOINT ["tabpe"]
CMD ["--help"]
