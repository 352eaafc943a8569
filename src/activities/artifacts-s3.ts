/** Artifacts in a bucket of S3, or of a server that speaks as S3 does. The same uris as in a folder: a content has one name. */
import type * as S3 from '@aws-sdk/client-s3';
import { ThroughlineError } from '../errors.ts';
import { LIMITS } from '../state/index.ts';
import { digestIn, identify, verified, type ArtifactStore, type StoredArtifact } from './artifacts.ts';

export interface S3Place {
  readonly bucket: string;
  /** Before each key; without slashes at its ends, may be empty. */
  readonly prefix: string;
  /** Of a server that is not Amazon's. */
  readonly endpoint?: string;
  readonly region?: string;
  /** `endpoint/bucket/key` instead of `bucket.endpoint/key`. Default: where an endpoint is given. */
  readonly pathStyle?: boolean;
}

const CONNECT_MS = 5_000;
const REQUEST_MS = 60_000;
/** Of the SDK's own tries, with its backoff; what still fails is the attempt's to repeat. */
const TRIES = 3;

const DENIED: ReadonlySet<string> = new Set(['AccessDenied', 'InvalidAccessKeyId', 'SignatureDoesNotMatch', 'ExpiredToken', 'InvalidToken', 'CredentialsProviderError', 'AccountProblem', 'AllAccessDisabled']);

/** Reads `s3://bucket/prefix?endpoint=…&region=…&pathStyle=…`. Throws CONFIG_INVALID. */
export function readS3Place(text: string): S3Place {
  const refuse = (message: string): never => {
    throw new ThroughlineError('CONFIG_INVALID', { message: `The place of artifacts cannot be used: ${message}`, path: 'artifacts' });
  };
  if (!URL.canParse(text)) return refuse('it is no URL.');
  const url = new URL(text);
  const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '');
  const known = ['endpoint', 'region', 'pathStyle'];
  if (url.protocol !== 's3:' || !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.host)) return refuse('a bucket is named as in s3://bucket/prefix.');
  if (url.username !== '' || url.password !== '') return refuse('credentials come from the environment of AWS, not from the URL.');
  const unknown = [...url.searchParams.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) return refuse(`it knows ${known.join(', ')}, and not ${JSON.stringify(unknown)}.`);
  if (!/^[\w!.*'()/-]{0,500}$/.test(prefix)) return refuse('its prefix holds other characters than letters, digits and !-_.*\'()/.');
  const [endpoint, region, pathStyle] = known.map((name) => url.searchParams.get(name) ?? undefined);
  if (endpoint !== undefined && !/^https?:\/\/[^/]+\/?$/.test(endpoint)) return refuse('its endpoint must be http:// or https:// and a host.');
  if (pathStyle !== undefined && pathStyle !== 'true' && pathStyle !== 'false') return refuse('pathStyle must be true or false.');
  return {
    bucket: url.host, prefix,
    ...(endpoint === undefined ? {} : { endpoint }), ...(region === undefined ? {} : { region }), ...(pathStyle === undefined ? {} : { pathStyle: pathStyle === 'true' }),
  };
}

/** Loads the SDK, which is an optional dependency. Throws CONFIG_INVALID if it is not installed. */
export async function s3ArtifactStore(place: S3Place, { bytesMax = LIMITS.artifact_bytes_max }: { readonly bytesMax?: number } = {}): Promise<ArtifactStore> {
  const sdk = await import('@aws-sdk/client-s3').catch((cause: unknown) => {
    throw new ThroughlineError('CONFIG_INVALID', { message: 'Artifacts in S3 need the package @aws-sdk/client-s3.', path: 'artifacts', cause });
  });
  return new S3ArtifactStore(sdk, place, bytesMax);
}

class S3ArtifactStore implements ArtifactStore {
  readonly #sdk: typeof S3;
  readonly #client: S3.S3Client;
  readonly #place: S3Place;
  readonly #limit: number;

  constructor(sdk: typeof S3, place: S3Place, limit: number) {
    this.#sdk = sdk;
    this.#place = place;
    this.#limit = limit;
    const { endpoint, region, pathStyle = endpoint !== undefined } = place;
    this.#client = new sdk.S3Client({
      forcePathStyle: pathStyle, maxAttempts: TRIES, requestHandler: { connectionTimeout: CONNECT_MS, requestTimeout: REQUEST_MS, throwOnRequestTimeout: true },
      // We send and check SHA-256 ourselves; not every server knows the SDK's own choice.
      requestChecksumCalculation: 'WHEN_REQUIRED', responseChecksumValidation: 'WHEN_REQUIRED',
      ...(endpoint === undefined ? {} : { endpoint }),
      // A server of one's own seldom has regions; the signature needs one all the same.
      ...(region === undefined ? (endpoint === undefined ? {} : { region: process.env['AWS_REGION'] ?? 'us-east-1' }) : { region }),
    });
  }

  #at(sha256: string): { readonly Bucket: string; readonly Key: string } {
    const { bucket, prefix } = this.#place;
    return { Bucket: bucket, Key: `${prefix === '' ? '' : `${prefix}/`}sha256/${sha256.slice(0, 2)}/${sha256.slice(2)}` };
  }

  /** An object appears whole or not at all. Written only where nothing is, or where what is there is not it. */
  async put({ bytes, mediaType }: { readonly bytes: Uint8Array; readonly mediaType: string }): Promise<StoredArtifact> {
    const stored = identify(bytes, this.#limit);
    try {
      if (!(await this.#write(stored, bytes, mediaType, true)) && !(await this.#holds(stored))) await this.#write(stored, bytes, mediaType, false);
    } catch (error) {
      throw this.#failed(error, stored.uri, 'The artifact store could not be written.');
    }
    return stored;
  }

  /** False: something is there already. */
  async #write({ sha256 }: StoredArtifact, bytes: Uint8Array, mediaType: string, onlyNew: boolean): Promise<boolean> {
    try {
      await this.#client.send(new this.#sdk.PutObjectCommand({
        ...this.#at(sha256), Body: bytes, ContentLength: bytes.byteLength, ContentType: mediaType, ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64'), ...(onlyNew ? { IfNoneMatch: '*' } : {}),
      }));
      return true;
    } catch (error) {
      if (!onlyNew) throw error;
      const { name, status } = faultOf(error);
      if (status === 412 || name === 'PreconditionFailed' || status === 409) return false;
      // A server without conditions: the content is the same under this key anyway.
      if (status === 501 || name === 'NotImplemented') return this.#write(identify(bytes, this.#limit), bytes, mediaType, false);
      throw error;
    }
  }

  /** By size, and by the checksum where the server kept it. */
  async #holds({ sha256, bytes }: StoredArtifact): Promise<boolean> {
    try {
      const head = await this.#client.send(new this.#sdk.HeadObjectCommand({ ...this.#at(sha256), ChecksumMode: 'ENABLED' }));
      return head.ContentLength === bytes && (head.ChecksumSHA256 === undefined || head.ChecksumSHA256 === Buffer.from(sha256, 'hex').toString('base64'));
    } catch (error) {
      if (faultOf(error).status === 404) return false;
      throw error;
    }
  }

  async get(uri: string): Promise<Uint8Array> {
    const sha256 = digestIn(uri);
    try {
      const { Body, ContentLength } = await this.#client.send(new this.#sdk.GetObjectCommand(this.#at(sha256)));
      if (Body === undefined || (ContentLength ?? 0) > this.#limit) throw new ThroughlineError('ARTIFACT_DAMAGED', { message: 'The artifact is damaged: it is larger than any that was stored.', facts: { uri, bytes: ContentLength }, limit: this.#limit });
      return verified(await Body.transformToByteArray(), uri);
    } catch (error) {
      throw this.#failed(error, uri, 'The artifact store could not be read.');
    }
  }

  async stat(uri: string): Promise<StoredArtifact> {
    const sha256 = digestIn(uri);
    try {
      const { ContentLength = 0 } = await this.#client.send(new this.#sdk.HeadObjectCommand(this.#at(sha256)));
      return { uri, sha256, bytes: ContentLength };
    } catch (error) {
      // A head has no body that could say what is missing.
      if (faultOf(error).status === 404) await this.#client.send(new this.#sdk.HeadBucketCommand({ Bucket: this.#place.bucket })).catch((missing: unknown) => { throw this.#failed(missing, uri, 'The artifact store could not be read.', 'NoSuchBucket'); });
      throw this.#failed(error, uri, 'The artifact store could not be read.');
    }
  }

  async remove(uri: string): Promise<boolean> {
    const sha256 = digestIn(uri);
    try {
      // A delete answers the same whether or not there was something.
      await this.#client.send(new this.#sdk.HeadObjectCommand(this.#at(sha256)));
      await this.#client.send(new this.#sdk.DeleteObjectCommand(this.#at(sha256)));
      return true;
    } catch (error) {
      if (faultOf(error).status === 404) {
        await this.#client.send(new this.#sdk.HeadBucketCommand({ Bucket: this.#place.bucket })).catch((missing: unknown) => { throw this.#failed(missing, uri, 'The artifact could not be removed from the store.', 'NoSuchBucket'); });
        return false;
      }
      throw this.#failed(error, uri, 'The artifact could not be removed from the store.');
    }
  }

  #failed(error: unknown, uri: string, message: string, meaning404 = 'NoSuchKey'): ThroughlineError {
    if (error instanceof ThroughlineError) return error;
    const fault = faultOf(error);
    const { status } = fault;
    const name = status === 404 && fault.name !== 'NoSuchBucket' ? meaning404 : fault.name;
    const detail = { facts: { uri, bucket: this.#place.bucket, s3_code: name, http_status: status }, cause: error };
    if (name === 'NoSuchBucket') return new ThroughlineError('ARTIFACT_STORE_MISSING', detail);
    if (status === 404) return new ThroughlineError('ARTIFACT_UNKNOWN', { facts: { uri } });
    if (DENIED.has(name) || status === 401 || status === 403) return new ThroughlineError('ARTIFACT_STORE_DENIED', detail);
    return new ThroughlineError('ARTIFACT_UNREADABLE', { message, ...detail });
  }
}

function faultOf(error: unknown): { readonly name: string; readonly status: number | undefined } {
  const { name, $metadata } = error as { readonly name?: unknown; readonly $metadata?: { readonly httpStatusCode?: number } };
  return { name: typeof name === 'string' ? name : 'Error', status: $metadata?.httpStatusCode };
}
