# seqkit on a CPU. Build it, then train and generate in a folder of yours:
#   docker build -t seqkit .
#   docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" seqkit recipe=shakespeare
FROM python:3.12-slim AS build
WORKDIR /source
RUN pip install --no-cache-dir "hatchling>=1.27,<2"
COPY . .
RUN python -m hatchling build -t wheel -d /wheels

FROM python:3.12-slim
# PyTorch and torchaudio first, and from their own index: the usual builds need CUDA.
RUN pip install --no-cache-dir "torch>=2.11,<2.15" "torchaudio>=2.11,<2.12" --index-url https://download.pytorch.org/whl/cpu
RUN --mount=from=build,source=/wheels,target=/wheels pip install --no-cache-dir /wheels/*.whl
RUN useradd --uid 1000 seqkit && install -d -o seqkit -g seqkit -m 0777 /data
# Any user may be chosen by --user: home and name are given for those that the image does not know.
ENV HOME=/data USER=seqkit
USER 1000
WORKDIR /data
VOLUME /data
ENTRYPOINT ["python", "-m", "seqkit"]
CMD ["--help"]
