# The decision service: docs/deployment.md has the commands.
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /opt/source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m pip wheel --no-deps --wheel-dir /opt/wheels .
# The environment has no pip, because the service installs nothing.
RUN python -m venv --without-pip /opt/graphbandits
RUN python -m pip --python /opt/graphbandits/bin/python install --no-compile \
    "$(echo /opt/wheels/graphbandits-*.whl)[serve,postgres]"
# Numba before 0.68 compares the times of source files with those of its cache. Layers of an image
# keep whole seconds only, so that all machine code would be out of date.
RUN find /opt/graphbandits/lib -name '*.py' -exec touch --date=@1000000000 {} +
RUN python -m compileall -q /opt/graphbandits/lib
# Machine code for all processors of this kind: the image may run on another machine.
ENV NUMBA_CPU_NAME=generic
# Names separated by spaces. Without names of policies, all are compiled.
ARG POLICIES=""
ARG WORLDS="bernoulli"
RUN for name in $POLICIES; do set -- "$@" --policies "$name"; done; \
    for name in $WORLDS; do set -- "$@" --worlds "$name"; done; \
    /opt/graphbandits/bin/graphbandits precompile --cache /opt/kernels "$@"
RUN mkdir /opt/data

FROM python:${PYTHON}-slim
ENV PATH=/opt/graphbandits/bin:$PATH \
    NUMBA_CPU_NAME=generic \
    NUMBA_CACHE_DIR=/opt/kernels \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
COPY --from=build /opt/graphbandits /opt/graphbandits
COPY --from=build /opt/kernels /opt/kernels
# For a store of SQLite in a volume, with GRAPHBANDITS_STORE=/data/agents.db
COPY --from=build --chown=10001:10001 /opt/data /data
WORKDIR /data
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["python", "-c", \
    "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["graphbandits"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
