import { fileURLToPath } from 'node:url';
import { ThroughlineError } from '../errors.ts';
import { readS3Place, s3ArtifactStore } from './artifacts-s3.ts';
import { localArtifactStore, type ArtifactStore } from './artifacts.ts';

/**
 * The store of a place: a folder, `file:///folder`, or `s3://bucket/prefix?endpoint=…&region=…&pathStyle=true|false`
 * with the credentials of AWS's usual environment. Nothing is asked of it yet. Throws CONFIG_INVALID.
 */
export async function openArtifactStore(place: string): Promise<ArtifactStore> {
  if (place.startsWith('s3://')) return s3ArtifactStore(readS3Place(place));
  if (!place.startsWith('file:')) return localArtifactStore(place);
  try {
    return localArtifactStore(fileURLToPath(place));
  } catch (cause) {
    throw new ThroughlineError('CONFIG_INVALID', { message: 'The place of artifacts is no file:///folder.', path: 'artifacts', cause });
  }
}
