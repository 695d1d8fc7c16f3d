# Muster's controller. The stack builds and pushes it (components/controller/image.py); by hand: docker build .
# Everything in it is pinned: the base image by the digest of its multi-platform index, the libraries by their
# hashes. CORE=interpreted does not compile the admission core, which then decides the same in twice the time.
ARG PYTHON=docker.io/library/python:3.13.15-slim-trixie@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b
ARG CORE=compiled

FROM ${PYTHON} AS libraries
COPY requirements/controller.lock /
RUN python -m venv /opt/muster \
 && /opt/muster/bin/pip install --no-cache-dir --no-deps --only-binary=:all: --require-hashes \
    --requirement /controller.lock \
 && /opt/muster/bin/pip uninstall --yes pip

FROM ${PYTHON} AS interpreted
COPY muster /app/muster

# Takes three minutes. The sources stay next to the compiled modules; the C compiler stays in this stage.
FROM ${PYTHON} AS compiled
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
COPY requirements/core.lock /
RUN python -m venv /opt/compiler \
 && /opt/compiler/bin/pip install --no-cache-dir --no-deps --only-binary=:all: --require-hashes \
    --requirement /core.lock
COPY muster /app/muster
WORKDIR /app
RUN find muster/admission -name '*.py' ! -name __init__.py | sort \
  | xargs /opt/compiler/bin/mypyc --strict --explicit-package-bases \
 && rm -r build .mypy_cache

FROM ${CORE} AS sources

FROM ${PYTHON}
COPY --from=libraries /opt/muster /opt/muster
COPY --from=sources /app /app
# Byte code is made here, because the root filesystem is read-only at run time.
RUN ["python", "-m", "compileall", "-q", "/app"]
ENV PATH=/opt/muster/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /app
# "nonroot" in distroless images; numeric, so that Kubernetes can verify runAsNonRoot.
USER 65532:65532
ENTRYPOINT ["python", "-m", "muster"]
CMD ["controller"]
