# The package as people install it, and nothing else.
FROM node:24-slim AS build
WORKDIR /src
COPY . .
RUN npm ci && npm pack --pack-destination /tmp

FROM node:24-slim
COPY --from=build /tmp/quartermaster-*.tgz /tmp/
RUN npm install --global --no-audit --no-fund /tmp/quartermaster-*.tgz \
  && rm /tmp/quartermaster-*.tgz && npm cache clean --force \
  && mkdir /data && chown node:node /data
USER node
# On 0.0.0.0 tools may not call private addresses, unless QM_EGRESS_ALLOW says so.
ENV QM_HOST=0.0.0.0 QM_DATA=/data
VOLUME /data
EXPOSE 4600
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4600/health').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["quartermaster", "up"]
