# The service in a container: what the lock file names, kernels compiled while the image is built, nothing run as root.
# `compose.yaml` starts it beside PostgreSQL; docs/howto/install.md says how to use both.

FROM python:3.13-slim-bookworm AS build
# code for any processor of the architecture: the image may run on another machine than the one that built it
ENV NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES=""
WORKDIR /build
COPY requirements/service.txt requirements/service.txt
RUN python -m venv /opt/quorate \
 && /opt/quorate/bin/pip install --no-cache-dir --require-hashes --requirement requirements/service.txt
COPY pyproject.toml setup.py README.md LICENSE ./
COPY src src
RUN /opt/quorate/bin/pip install --no-cache-dir --no-deps . \
 && NUMBA_CACHE_DIR=/opt/quorate/kernels /opt/quorate/bin/python -m quorate.compile_kernels

FROM python:3.13-slim-bookworm
RUN useradd --system --uid 10001 --no-create-home quorate && install --directory --owner=quorate --mode=0700 /data
COPY --from=build /opt/quorate /opt/quorate
COPY --chmod=0755 container/start /opt/quorate/start
ENV PATH=/opt/quorate/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES="" NUMBA_CACHE_DIR=/tmp/kernels QUORATE_KERNELS=compiled
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
ENTRYPOINT ["/opt/quorate/start"]
CMD ["serve", "--host", "0.0.0.0"]
