# The service in a container: what the lock file names, nothing run as root. The compiler stays in the build stage.
# `compose.yaml` starts it beside PostgreSQL; docs/howto/install.md says how to use both.

FROM python:3.13-bookworm AS build
WORKDIR /build
COPY requirements/service.txt requirements/service.txt
RUN python -m venv /opt/quorate \
 && /opt/quorate/bin/pip install --no-cache-dir --require-hashes --requirement requirements/service.txt
COPY pyproject.toml setup.py README.md LICENSE ./
COPY core core
COPY src src
RUN /opt/quorate/bin/pip install --no-cache-dir --no-deps .

FROM python:3.13-slim-bookworm
RUN useradd --system --uid 10001 --no-create-home quorate && install --directory --owner=quorate --mode=0700 /data
COPY --from=build /opt/quorate /opt/quorate
ENV PATH=/opt/quorate/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
ENTRYPOINT ["quorate"]
CMD ["serve", "--host", "0.0.0.0"]
