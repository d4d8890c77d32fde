# syntax=docker/dockerfile:1
# One image for every program: SVC_ROLE says which (all, server, host, agent).

FROM oven/bun:1.4.5-slim AS build
WORKDIR /app
COPY package.json bun.lock bunfig.toml launch.mjs ./
RUN bun install --frozen-lockfile --ignore-scripts
COPY . .
RUN bun --bun node_modules/.bin/vite build ui
# What runs needs neither the tools nor the Bun of the registry.
RUN rm -rf node_modules && bun install --frozen-lockfile --ignore-scripts --production --omit=peer && rm -rf node_modules/bun node_modules/@oven node_modules/.bin/bun node_modules/.bin/bunx

FROM oven/bun:1.4.5-slim
LABEL org.opencontainers.image.title="Sluice" \
      org.opencontainers.image.description="Turn SQL into a running MCP server" \
      org.opencontainers.image.licenses="MIT"
WORKDIR /app
COPY --from=build /app/package.json /app/bunfig.toml /app/LICENSE ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/core ./core
COPY --from=build /app/snapshots ./snapshots
COPY --from=build /app/server ./server
COPY --from=build /app/mcp-host ./mcp-host
COPY --from=build /app/agent ./agent
COPY --from=build /app/ui/docs ./ui/docs
COPY --from=build /app/ui/dist ./ui/dist
RUN mkdir -p /data/databases && chown -R bun:bun /data
ENV SVC_DATA_DIR=/data \
    SVC_GENERATED_DIR=/data/generated
VOLUME /data
USER bun
EXPOSE 3000 8080 8090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["bun", "server/healthy.ts"]
CMD ["bun", "server/main.ts"]
