# lightsched in a container. `docker compose up --build` starts two of them on a Kafka broker.

FROM python:3.11-slim AS build
# The same version as in the Makefile; a test compares them.
ARG UV_VERSION=0.13.7
RUN pip install --no-cache-dir --disable-pip-version-check uv==${UV_VERSION} && python -m venv /opt/lightsched
WORKDIR /source
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY src src
# As constraints, the lock fixes versions and hashes of what is needed to run, and leaves out what only developers need.
RUN uv pip install --no-cache --python /opt/lightsched/bin/python \
        --constraint requirements.lock --build-constraint requirements.lock .

FROM python:3.11-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/lightsched --create-home lightsched
COPY --from=build /opt/lightsched /opt/lightsched
COPY deploy/lightsched.yml /etc/lightsched/lightsched.yml
ENV PATH=/opt/lightsched/bin:$PATH PYTHONUNBUFFERED=1
USER lightsched
WORKDIR /var/lib/lightsched
VOLUME /var/lib/lightsched
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/readyz', timeout=4)"]
CMD ["lightsched", "serve", "--config", "/etc/lightsched/lightsched.yml"]
