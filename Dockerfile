# Muster's controller. The stack builds and pushes it (components/controller/image.py); by hand: docker build .
# Everything is pinned: the base image by the digest of its multi-platform index, the libraries by their hashes.
ARG PYTHON=docker.io/library/python:3.13.15-slim-trixie@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b

FROM ${PYTHON} AS libraries
COPY requirements-controller.lock /
RUN python -m venv /opt/muster \
 && /opt/muster/bin/pip install --no-cache-dir --no-deps --only-binary=:all: --require-hashes \
    --requirement /requirements-controller.lock \
 && /opt/muster/bin/pip uninstall --yes pip

FROM ${PYTHON}
COPY --from=libraries /opt/muster /opt/muster
COPY muster /app/muster
# Compiled here, because the root filesystem is read-only at run time.
RUN ["python", "-m", "compileall", "-q", "/app"]
ENV PATH=/opt/muster/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /app
# "nonroot" in distroless images; numeric, so that Kubernetes can verify runAsNonRoot.
USER 65532:65532
ENTRYPOINT ["python", "-m", "muster"]
CMD ["controller"]
