/** @jsxRuntime automatic @jsxImportSource preact */
/** What stands behind a success: artifacts, and what acceptance found when it read them back. */
import type { Explanation } from '../../client/explain/index.ts';
import { taskAddress } from '../address.ts';
import { useFrame } from '../frame.ts';
import { previewOf } from '../preview.ts';
import { Code, Name, Time } from './words.tsx';

type Proof = Explanation['proof'][number];

export function Proofs({ e }: { readonly e: Explanation }) {
  const { m } = useFrame();
  const told = e.proof.filter(({ checks, artifacts, code }) => checks.length + artifacts.length > 0 || code === 'unbacked');
  return (
    <section class="card" aria-labelledby="proof">
      <h2 id="proof">{m.task.proof}</h2>
      {told.length === 0 ? <p class="quiet">{m.task.no_proof}</p> : null}
      {told.map((proof) => (
        <div key={proof.step} class="group">
          <h3><Name>{proof.step}</Name></h3>
          <p class={proof.code === 'accepted' ? 'proven' : ''}>{proof.sentence}</p>
          {proof.checks.map((check) => <Check key={check.check_no} check={check} asOf={e.as_of} />)}
          {proof.artifacts.length === 0 ? null : <ul>{proof.artifacts.map((one) => <ArtifactItem key={`${one.sha256}/${one.name}`} artifact={one} task={e.task.id} asOf={e.as_of} />)}</ul>}
        </div>
      ))}
    </section>
  );
}

/** What a reviewer reads: everything that the other steps have stored, opened. */
export function Reading({ e, step }: { readonly e: Explanation; readonly step: string }) {
  const { m } = useFrame();
  const stored = e.proof.filter((proof) => proof.step !== step).flatMap(({ artifacts }) => artifacts);
  return (
    <section class="card reading" aria-labelledby="reading">
      <h2 id="reading">{m.actions.to_read}</h2>
      {stored.length === 0 ? <p class="quiet">{m.actions.nothing_to_read}</p> : <ul>{stored.map((one) => <ArtifactItem key={`${one.sha256}/${one.name}`} artifact={one} task={e.task.id} asOf={e.as_of} open />)}</ul>}
    </section>
  );
}

function Check({ check, asOf }: { readonly check: Proof['checks'][number]; readonly asOf: string }) {
  const { m } = useFrame();
  const said = (value: boolean | null): string => (value === null ? m.unknown : value ? m.yes : m.no);
  return (
    <div class="item">
      <p class="small">{check.sentence} <span class="quiet"><Time at={check.at} from={asOf} only="distance" /></span></p>
      <p class="small quiet">{m.task.found}: {said(check.found)} · {m.task.ours}: {said(check.ours)} · {m.task.minimum}: {said(check.minimum)}</p>
      {check.read === null ? null : (
        <details>
          <summary>{m.task.read}</summary>
          <pre tabIndex={0}><bdi>{JSON.stringify(check.read, null, 2)}</bdi></pre>
        </details>
      )}
    </div>
  );
}

function ArtifactItem({ artifact, task, asOf, open = false }: { readonly artifact: Proof['artifacts'][number]; readonly task: string; readonly asOf: string; readonly open?: boolean }) {
  const { m } = useFrame();
  const { name, sha256, media_type: media, bytes } = artifact;
  const kind = previewOf(media, bytes);
  const source = taskAddress(task, `/artifacts/${sha256}/preview`);
  return (
    <li class="item artifact">
      <p><Name>{name}</Name> <span class="small quiet">{media} · {bytes.toLocaleString('en')} {m.task.bytes} · {m.task.attempt(artifact.attempt)} · <Time at={artifact.at} from={asOf} only="distance" /></span></p>
      <p class="small quiet"><Code>{`sha256 ${sha256}`}</Code> · <a href={taskAddress(task, `/artifacts/${sha256}/content`)} download>{m.task.download}</a></p>
      {kind === null ? null : (
        <details open={open}>
          <summary>{m.task.preview}</summary>
          {kind === 'picture' ? <img src={source} alt={name} loading="lazy" /> : <iframe src={source} title={m.task.preview_of(name)} sandbox="" loading="lazy" />}
        </details>
      )}
    </li>
  );
}
