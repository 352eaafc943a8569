/** Artifacts in S3: on a real server that speaks as S3 does, and on one that fails as S3 can. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CreateBucketCommand, DeleteObjectCommand, HeadObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openArtifactStore } from '../../src/activities/artifact-place.ts';
import { readS3Place, s3ArtifactStore } from '../../src/activities/artifacts-s3.ts';
import type { ArtifactStore } from '../../src/activities/artifacts.ts';
import type { ThroughlineError } from '../../src/errors.ts';
import { S3_PYTHON, startS3, type S3Server } from '../support/s3.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const codeOf = (work: Promise<unknown>): Promise<unknown> => work.then(() => 'no error', (error: unknown) => (error as ThroughlineError).code);
// The environment of this test file alone: jest gives each a copy.
Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', AWS_EC2_METADATA_DISABLED: 'true' });

describe('on a real server', () => {
  let server: S3Server | undefined;
  let admin!: S3Client;
  let store: ArtifactStore;
  beforeAll(async () => {
    if (S3_PYTHON === null) return;
    server = await startS3();
    admin = new S3Client({ endpoint: server.endpoint, region: 'us-east-1', forcePathStyle: true });
    await admin.send(new CreateBucketCommand({ Bucket: 'proofs' }));
    store = await openArtifactStore(`s3://proofs/tasks/made?endpoint=${server.endpoint}&region=us-east-1`);
  });
  afterAll(async () => {
    if (server === undefined) return;
    admin.destroy();
    await server.stop();
  });
  const put = (text: string): ReturnType<ArtifactStore['put']> => store.put({ bytes: bytesOf(text), mediaType: 'text/plain' });
  const keys = async (): Promise<string[]> => ((await admin.send(new ListObjectsV2Command({ Bucket: 'proofs' }))).Contents ?? []).map(({ Key }) => Key ?? '').sort();
  const keyOf = (sha256: string): string => `tasks/made/sha256/${sha256.slice(0, 2)}/${sha256.slice(2)}`;
  const overwrite = (sha256: string, text: string) => admin.send(new PutObjectCommand({ Bucket: 'proofs', Key: keyOf(sha256), Body: text }));

  // No Python and no way to get it: nothing real could be tested.
  const real = (S3_PYTHON === null ? test.skip : test);

  real('what is stored is read back, under a uri that names its content, with its media type', async () => {
    const stored = await put('a page');
    expect(stored).toEqual({ uri: `cas:sha256:${stored.sha256}`, sha256: stored.sha256, bytes: 6 });
    expect(new TextDecoder().decode(await store.get(stored.uri))).toBe('a page');
    expect(await store.stat(stored.uri)).toEqual(stored);
    expect((await admin.send(new HeadObjectCommand({ Bucket: 'proofs', Key: keyOf(stored.sha256) }))).ContentType).toBe('text/plain');
  });

  real('the same bytes are one object, however often and at once', async () => {
    const before = await keys();
    const all = await Promise.all(Array.from({ length: 5 }, () => put('twice')));
    expect(new Set(all.map(({ uri }) => uri)).size).toBe(1);
    expect(await keys()).toHaveLength(before.length + 1);
  });

  real('empty and binary', async () => {
    for (const bytes of [new Uint8Array(), Uint8Array.from({ length: 70_000 }, (_, n) => n % 256)]) {
      const { uri } = await store.put({ bytes, mediaType: 'application/octet-stream' });
      expect(Buffer.from(await store.get(uri)).equals(Buffer.from(bytes))).toBe(true);
    }
  });

  real('what was damaged is never given out; storing it again mends what differs in size', async () => {
    const { uri, sha256 } = await put('precious');
    await overwrite(sha256, 'PRECIOUS');
    expect(await codeOf(store.get(uri))).toBe('ARTIFACT_DAMAGED');
    await overwrite(sha256, 'pre');
    expect(await codeOf(store.get(uri))).toBe('ARTIFACT_DAMAGED');
    await put('precious');
    expect(new TextDecoder().decode(await store.get(uri))).toBe('precious');
  });

  real('what is gone is unknown; where the bucket is gone nothing is known of it', async () => {
    const { uri, sha256 } = await put('soon gone');
    await admin.send(new DeleteObjectCommand({ Bucket: 'proofs', Key: keyOf(sha256) }));
    const nowhere = await s3ArtifactStore({ bucket: 'nowhere', prefix: '', endpoint: server?.endpoint ?? '' });
    expect(await Promise.all([store.get(uri), store.stat(uri), nowhere.get(uri), nowhere.stat(uri), nowhere.put({ bytes: bytesOf('x'), mediaType: 'text/plain' })].map(codeOf))).toEqual([
      'ARTIFACT_UNKNOWN', 'ARTIFACT_UNKNOWN', 'ARTIFACT_STORE_MISSING', 'ARTIFACT_STORE_MISSING', 'ARTIFACT_STORE_MISSING',
    ]);
  });

  real('beyond the limit nothing is written, and nothing so large is read', async () => {
    const before = await keys();
    const small = await s3ArtifactStore({ bucket: 'proofs', prefix: 'tasks/made', endpoint: server?.endpoint ?? '' }, { bytesMax: 4 });
    expect(await codeOf(small.put({ bytes: bytesOf('12345'), mediaType: 'text/plain' }))).toBe('RESULT_TOO_LARGE');
    expect(await keys()).toEqual(before);
    expect(await codeOf(small.get((await put('larger')).uri))).toBe('ARTIFACT_DAMAGED');
  });
});

describe('on a server that fails', () => {
  let server: Server;
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  let store: ArtifactStore;
  const uri = `cas:sha256:${'0'.repeat(64)}`;
  beforeAll(async () => {
    server = createServer((request, response) => { request.resume().on('end', () => { answer(request, response); }); });
    await new Promise<void>((done) => { server.listen(0, '127.0.0.1', done); });
    store = await s3ArtifactStore({ bucket: 'proofs', prefix: '', endpoint: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}` });
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const says = (status: number, code: string) => (_: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/xml' }).end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`);
  };

  test.each<[string, number, string, string]>([
    ['no permission', 403, 'AccessDenied', 'ARTIFACT_STORE_DENIED'], ['no such key id', 403, 'InvalidAccessKeyId', 'ARTIFACT_STORE_DENIED'], ['no such bucket', 404, 'NoSuchBucket', 'ARTIFACT_STORE_MISSING'],
    ['overload', 503, 'SlowDown', 'ARTIFACT_UNREADABLE'], ['a full disk', 507, 'XMinioStorageFull', 'ARTIFACT_UNREADABLE'], ['damage on the way', 400, 'BadDigest', 'ARTIFACT_UNREADABLE'],
  ])('%s has its code', async (_, status, name, code) => {
    answer = says(status, name);
    // The SDK repeats what is overloaded, and takes its time.
    if (status !== 503) expect(await codeOf(store.put({ bytes: bytesOf('x'), mediaType: 'text/plain' }))).toBe(code);
    expect(await codeOf(store.get(uri))).toBe(code);
  });

  test('an answer that breaks off is no artifact', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('half', () => response.destroy());
    };
    expect(await codeOf(store.get(uri))).toBe('ARTIFACT_UNREADABLE');
  });

  test('each object is written on the condition that nothing is there; a server without conditions gets it without', async () => {
    const seen: unknown[] = [];
    answer = (request, response) => {
      const { headers } = request;
      seen.push([headers['if-none-match'], headers['x-amz-checksum-sha256'] !== undefined]);
      if (headers['if-none-match'] === undefined) response.writeHead(200).end();
      else says(501, 'NotImplemented')(request, response);
    };
    await store.put({ bytes: bytesOf('x'), mediaType: 'text/plain' });
    expect(seen.at(0)).toEqual(['*', true]);
    expect(seen.at(-1)).toEqual([undefined, true]);
  });

  test('nobody listens', async () => {
    const away = await s3ArtifactStore({ bucket: 'proofs', prefix: '', endpoint: 'http://127.0.0.1:9' });
    expect(await codeOf(away.stat(uri))).toBe('ARTIFACT_UNREADABLE');
  });
});

test.each<[string, object]>([
  ['s3://proofs', { bucket: 'proofs', prefix: '' }],
  ['s3://proofs/a/b/', { bucket: 'proofs', prefix: 'a/b' }],
  ['s3://proofs/a?endpoint=https://s3.example&region=eu-1&pathStyle=false', { bucket: 'proofs', prefix: 'a', endpoint: 'https://s3.example', region: 'eu-1', pathStyle: false }],
])('%s is a place', (text, place) => {
  expect(readS3Place(text)).toEqual(place);
});

test.each(['s3://', 's3://a', 's3://user:secret@proofs', 's3://proofs?secret=x', 's3://proofs?endpoint=s3.example', 's3://proofs?pathStyle=yes', 's3://proofs/%00', 'file://host/folder'])('%s is none', async (text) => {
  const error = await openArtifactStore(text).then(() => null, (thrown: unknown) => thrown as ThroughlineError);
  expect(error).toMatchObject({ code: 'CONFIG_INVALID', detail: { path: 'artifacts' } });
  expect(error?.message).not.toContain('secret@');
});
