/** The publishing platform: its store, its log and its routes put together. */
import { fastify } from 'fastify';
import type { FastifyError } from 'fastify';
import { AccessLog } from './access-log.ts';
import { adminRoutes } from './admin.ts';
import { logRefusal } from './calls.ts';
import type { Platform } from './calls.ts';
import { FaultRegistry } from './faults.ts';
import { ReceiptSender } from './receipts.ts';
import { pictureRoutes, postRoutes } from './routes.ts';
import { PlatformStore } from './store.ts';
import { DEFAULT_SETTINGS, pictureTypes } from './types.ts';
import type { RouteName, Settings } from './types.ts';

export interface PlatformOptions {
  /** Folder of the journal, the access log and the pictures. One process at a time. */
  readonly data: string;
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly settings: Partial<Settings>;
  /** When given, every call needs it as a bearer token (admin routes don't). */
  readonly token: string | undefined;
  /** When given, receipts are signed with it. */
  readonly receiptSecret: string | undefined;
}

/** Routes with a body that the parser may refuse before the route's handler sees it. */
const BODY_ROUTES: Readonly<Record<string, RouteName>> = { '/pictures': 'upload_picture', '/posts': 'publish_post' };

export interface RunningPlatform {
  /** Without a trailing slash. */
  readonly address: string;
  /** Ends receipts and open connections, then closes the files. */
  close(): Promise<void>;
}

/** Starts the platform in this process. Throws when the journal is damaged or the port is taken. */
export async function startPlatform(options: PlatformOptions): Promise<RunningPlatform> {
  const store = new PlatformStore(options.data);
  const log = new AccessLog(options.data, store.journalledAccess);
  let settings: Settings = { ...DEFAULT_SETTINGS, ...options.settings };
  const receipts = new ReceiptSender(store, () => settings, options.receiptSecret);
  const platform: Platform = {
    store,
    log,
    faults: new FaultRegistry(),
    get settings() {
      return settings;
    },
    token: options.token,
    onAccepted: () => {
      receipts.schedule();
    },
  };

  // Requests that are never answered would otherwise keep the process from stopping.
  const app = fastify({ forceCloseConnections: true, bodyLimit: 64 * 1024 });
  app.addContentTypeParser([...pictureTypes], { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const status = error.statusCode ?? 500;
    const route = request.method === 'POST' ? BODY_ROUTES[request.routeOptions.url ?? ''] : undefined;
    if (route !== undefined && status < 500) logRefusal(platform, route, { status, code: error.code });
    return reply.code(status).send({ code: error.code, message: error.message });
  });
  pictureRoutes(app, platform);
  postRoutes(app, platform);
  adminRoutes(app, platform, (changed) => {
    settings = changed;
  });
  const address = await app.listen({ host: options.host, port: options.port });
  receipts.schedule();
  return {
    address,
    close: async () => {
      receipts.stop();
      await app.close();
      store.close();
      log.close();
    },
  };
}
