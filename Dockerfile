# docker build --tag llp . ; docker run --volume "$PWD:/work" llp demo
FROM python:3.11-slim-bookworm
COPY . /source
RUN pip install --no-cache-dir --constraint /source/constraints.txt --index-url https://download.pytorch.org/whl/cpu \
      --extra-index-url https://pypi.org/simple torch \
 && pip install --no-cache-dir --constraint /source/constraints.txt '/source[demo]' \
 && rm -r /source
WORKDIR /work
ENTRYPOINT ["llp"]
CMD ["--help"]
