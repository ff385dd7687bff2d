# One image for everything: docker build -t fencepost . (docs/deploy.md says how to run it)
FROM python:3.13-slim AS build
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /wheels

FROM python:3.13-slim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin fencepost \
 && install --directory --owner=10001 --group=10001 --mode=0700 /data
COPY constraints.txt /tmp/constraints.txt
COPY --from=build /wheels /tmp/wheels
RUN pip install --no-cache-dir --constraint /tmp/constraints.txt "$(ls /tmp/wheels/*.whl)[server,postgres,redact,parquet,broker,accounts,oidc]" \
 && rm -r /tmp/wheels /tmp/constraints.txt
ENV FENCEPOST_DATA=/data PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
VOLUME /data
USER 10001
EXPOSE 5001
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:5001/healthz', timeout=4)"]
ENTRYPOINT ["fencepost"]
CMD ["serve", "--host", "0.0.0.0"]
