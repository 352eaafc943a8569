/** @jsxRuntime automatic @jsxImportSource preact */
/** A small chart of counts over time; the numbers stand in a table for whoever can't see it. */
import { scaleBand, scaleLinear } from 'd3-scale';
import { useFrame } from '../frame.ts';
import { moment } from '../time.ts';

export interface Bar {
  readonly at: string;
  readonly count: number;
}

const [WIDTH, HEIGHT, FOOT, SIDE] = [640, 150, 20, 34] as const;

export function Bars({ title, bars, tone, note }: { readonly title: string; readonly bars: readonly Bar[]; readonly tone: 'progress' | 'attention'; readonly note?: string | undefined }) {
  const { m } = useFrame();
  const total = bars.reduce((sum, { count }) => sum + count, 0);
  const y = scaleLinear([0, Math.max(4, ...bars.map(({ count }) => count))], [HEIGHT - FOOT, 8]).nice(4);
  const x = scaleBand(bars.map(({ at }) => at), [SIDE, WIDTH]).padding(0.18);
  const hours = bars.filter((_, index) => index % 8 === 0);
  return (
    <figure class="bars card">
      <figcaption><h2>{title}</h2> <strong>{total.toLocaleString('en')}</strong></figcaption>
      <svg viewBox={`0 0 ${String(WIDTH)} ${String(HEIGHT)}`} role="img" aria-label={`${title}: ${m.overview.in_all(total)}`}>
        {y.ticks(4).map((tick) => (
          <g key={tick}>
            <line class="grid" x1={SIDE} x2={WIDTH} y1={y(tick)} y2={y(tick)} />
            <text class="tick" x={SIDE - 6} y={y(tick) + 4} text-anchor="end">{tick.toLocaleString('en')}</text>
          </g>
        ))}
        {bars.filter(({ count }) => count > 0).map(({ at, count }) => (
          <rect key={at} class={tone} x={x(at) ?? 0} width={x.bandwidth()} y={y(count)} height={y(0) - y(count)} rx="1.5"><title>{`${moment(at).slice(11, 16)}: ${String(count)}`}</title></rect>
        ))}
        {hours.map(({ at }) => <text key={at} class="tick" x={(x(at) ?? 0) + x.bandwidth() / 2} y={HEIGHT - 4} text-anchor="middle">{moment(at).slice(11, 16)}</text>)}
      </svg>
      <p class="small quiet">{note ?? m.overview.day}</p>
      <table class="away">
        <caption>{title}</caption>
        <tbody>{bars.filter(({ count }) => count > 0).map(({ at, count }) => <tr key={at}><th scope="row">{moment(at)}</th><td>{count}</td></tr>)}</tbody>
      </table>
    </figure>
  );
}
