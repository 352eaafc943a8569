/** Draws the pictures of the shipped notes: `node --import tsx make-pictures.ts`. The results are in the repository. */
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';

const SANS = 'font-family="DejaVu Sans, Arial, sans-serif"';
const svg = (width: number, height: number, body: string): Buffer =>
  Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${body}</svg>`);
const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
/** Always the same "random" numbers between 0 and 1, so that a redrawn picture is the same picture. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

function tideCurve(): Buffer {
  const y = (hour: number): number => 246 - 91 * Math.sin((hour / 12.42) * 2 * Math.PI + 0.574);
  const points = range(145).map((step) => `${80 + step * 7},${y(step / 6).toFixed(1)}`);
  const hours = range(9).map(
    (n) => `<line x1="${80 + n * 126}" y1="90" x2="${80 + n * 126}" y2="430" stroke="#d9e2e8"/>
      <text x="${80 + n * 126}" y="462" font-size="20" text-anchor="middle" fill="#456" ${SANS}>${n * 3}:00</text>`,
  );
  const levels = range(5).map(
    (n) => `<text x="66" y="${156 + n * 55}" font-size="18" text-anchor="end" fill="#456" ${SANS}>${4 - n} m</text>`,
  );
  return svg(
    1160,
    500,
    `<rect width="1160" height="500" fill="#fbfdfe"/>${hours.join('')}${levels.join('')}
     <path d="M ${points.join(' L ')}" fill="none" stroke="#12688f" stroke-width="6"/>
     <line x1="80" y1="246" x2="1088" y2="246" stroke="#c2703d" stroke-width="2" stroke-dasharray="9 7"/>
     <text x="560" y="236" font-size="18" text-anchor="middle" fill="#c2703d" ${SANS}>mean sea level</text>
     <text x="80" y="52" font-size="30" fill="#123" ${SANS}>One day at the north gauge: two highs, two lows</text>`,
  );
}

function shore(): Buffer {
  const random = numbers(7);
  const waves = range(26).map((n) => {
    const top = 420 + n * 11;
    const bend = 20 + random() * 30;
    return `<path d="M0 ${top} C 400 ${top - bend} 800 ${top + bend} 1600 ${top}" stroke="#e9f4f6"
      stroke-opacity="${(0.15 + random() * 0.4).toFixed(2)}" stroke-width="${(1 + n / 5).toFixed(1)}" fill="none"/>`;
  });
  const stones = range(220).map(() => {
    const size = 5 + random() * 34;
    const tone = 70 + Math.floor(random() * 90);
    return `<ellipse cx="${(random() * 1600).toFixed(0)}" cy="${(760 + random() * 240).toFixed(0)}" rx="${size.toFixed(0)}"
      ry="${(size * 0.6).toFixed(0)}" fill="rgb(${tone},${tone - 8},${tone - 18})"/>`;
  });
  return svg(
    1600,
    1000,
    `<defs><linearGradient id="sky" x2="0" y2="1"><stop offset="0" stop-color="#35557d"/>
       <stop offset="0.8" stop-color="#e9b98a"/><stop offset="1" stop-color="#f6ddb5"/></linearGradient>
     <linearGradient id="sea" x2="0" y2="1"><stop offset="0" stop-color="#6d8fa3"/>
       <stop offset="1" stop-color="#1d4a5c"/></linearGradient></defs>
     <rect width="1600" height="410" fill="url(#sky)"/><circle cx="1130" cy="350" r="62" fill="#fff1cf"/>
     <rect y="405" width="1600" height="400" fill="url(#sea)"/>${waves.join('')}
     <path d="M0 720 C 500 690 900 790 1600 735 L1600 1000 L0 1000 Z" fill="#8c8069"/>${stones.join('')}`,
  );
}

function spring(title: string, angle: number): string {
  const moonX = 150 * Math.cos(angle);
  const moonY = 150 * Math.sin(angle);
  const [rx, ry] = angle === 0 ? [96, 64] : [76, 66];
  return `<text y="-210" font-size="28" text-anchor="middle" fill="#123" ${SANS}>${title}</text>
    <ellipse rx="${rx}" ry="${ry}" fill="#8fc3dd"/><circle r="52" fill="#3c7a4f"/>
    <circle cx="${moonX.toFixed(0)}" cy="${moonY.toFixed(0)}" r="22" fill="#9aa3ab"/>
    <circle r="150" fill="none" stroke="#b9c4cc" stroke-dasharray="5 7"/>`;
}

function springNeap(): Buffer {
  return svg(
    1200,
    560,
    `<rect width="1200" height="560" fill="#fffdf7"/>
     <g transform="translate(330 300)">${spring('Spring tide: in line', 0)}</g>
     <g transform="translate(760 300)">${spring('Neap tide: at a right angle', -Math.PI / 2)}</g>
     <circle cx="1180" cy="300" r="120" fill="#f4c542"/>
     <text x="1120" y="310" font-size="26" text-anchor="middle" fill="#7a5a00" ${SANS}>Sun</text>`,
  );
}

function bowl(): Buffer {
  const random = numbers(21);
  const noodles = range(110).map(() => {
    const x = 500 + random() * 600;
    const y = 420 + random() * 230;
    const bend = (): string => (random() * 260 - 130).toFixed(0);
    return `<path d="M${x.toFixed(0)} ${y.toFixed(0)} q ${bend()} ${bend()} ${bend()} ${bend()}" stroke-width="11"
      stroke="rgb(${205 + Math.floor(random() * 30)},${150 + Math.floor(random() * 30)},88)" fill="none"/>`;
  });
  const scallions = range(60).map(
    () => `<rect x="${(560 + random() * 480).toFixed(0)}" y="${(420 + random() * 200).toFixed(0)}" width="34" height="11" rx="5"
      fill="rgb(${70 + Math.floor(random() * 50)},${95 + Math.floor(random() * 40)},40)"
      transform="rotate(${(random() * 40).toFixed(0)} 800 530)"/>`,
  );
  return svg(
    1600,
    1067,
    `<rect width="1600" height="1067" fill="#6f4a33"/><ellipse cx="800" cy="560" rx="560" ry="420" fill="#3f2a1d"/>
     <ellipse cx="800" cy="530" rx="540" ry="400" fill="#f5f1e6"/><ellipse cx="800" cy="530" rx="450" ry="320" fill="#8b5426"/>
     <clipPath id="c"><ellipse cx="800" cy="530" rx="440" ry="310"/></clipPath>
     <g clip-path="url(#c)">${noodles.join('')}${scallions.join('')}</g>
     <rect x="1210" y="120" width="22" height="820" fill="#c9a06a" transform="rotate(24 1220 500)"/>
     <rect x="1270" y="120" width="22" height="820" fill="#c9a06a" transform="rotate(21 1280 500)"/>`,
  );
}

function heat(): Buffer {
  const bars = [
    [110, 4, '#f0c36d'],
    [130, 10, '#df9a3c'],
    [150, 5, '#a9672a'],
  ] as const;
  const drawn = bars.map(
    ([celsius, minutes, colour], n) => `<rect x="${150 + n * 290}" y="${430 - celsius * 2}" width="200" height="${celsius * 2}"
      fill="${colour}"/><text x="${250 + n * 290}" y="${410 - celsius * 2}" font-size="28" text-anchor="middle" ${SANS}>${celsius} °C</text>
     <text x="${250 + n * 290}" y="472" font-size="26" text-anchor="middle" ${SANS}>${minutes} min</text>`,
  );
  return svg(1060, 520, `<rect width="1060" height="520" fill="#fffaf2"/>${drawn.join('')}
     <line x1="100" y1="430" x2="990" y2="430" stroke="#333" stroke-width="3"/>`);
}

function latency(): Buffer {
  const before = [420, 460, 510, 480, 530, 560, 610];
  const after = [180, 175, 190, 170, 168, 181, 174];
  const line = (values: readonly number[], colour: string): string =>
    `<polyline fill="none" stroke="${colour}" stroke-width="6" points="${values
      .map((value, n) => `${120 + n * 150},${470 - value * 0.6}`)
      .join(' ')}"/>`;
  return svg(
    1160,
    560,
    `<rect width="1160" height="560" fill="#fff"/>
     <text x="60" y="56" font-size="30" fill="#222" ${SANS}>p95 of a search, ms, over one week</text>
     ${line(before, '#b5413b')}${line(after, '#2f7d5b')}
     <text x="1030" y="90" font-size="24" fill="#b5413b" ${SANS}>2.3</text>
     <text x="1030" y="355" font-size="24" fill="#2f7d5b" ${SANS}>2.4</text>
     <line x1="100" y1="470" x2="1060" y2="470" stroke="#444" stroke-width="2"/>`,
  );
}

function filters(): Buffer {
  const chips = ['in: archive', 'after: 2024-01', 'has: picture', 'by: me'];
  const drawn = chips.map(
    (chip, n) => `<rect x="${60 + n * 225}" y="150" width="205" height="56" rx="28" fill="#e5efff" stroke="#5b86d6"/>
      <text x="${162 + n * 225}" y="186" font-size="22" text-anchor="middle" fill="#24457f" ${SANS}>${chip}</text>`,
  );
  const rows = range(4).map(
    (n) => `<rect x="60" y="${240 + n * 70}" width="880" height="54" rx="8" fill="#f4f5f7"/>
      <rect x="84" y="${258 + n * 70}" width="${330 + n * 90}" height="16" rx="8" fill="#b9bec7"/>`,
  );
  return svg(
    1000,
    540,
    `<rect width="1000" height="540" fill="#fff" stroke="#ccc"/><rect x="60" y="60" width="880" height="64" rx="10" fill="#fff" stroke="#888"/>
     <text x="84" y="100" font-size="26" fill="#333" ${SANS}>harbour</text>${drawn.join('')}${rows.join('')}`,
  );
}

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
await sharp(tideCurve()).png({ palette: true }).toFile(file('tides/pictures/tide-curve.png'));
await sharp(shore()).jpeg({ quality: 74 }).toFile(file('tides/pictures/shore.jpg'));
await sharp(springNeap()).png({ palette: true }).toFile(file('tides/pictures/spring-neap.png'));
await sharp(bowl()).jpeg({ quality: 74 }).toFile(file('scallion-noodles/pictures/bowl.jpg'));
await sharp(heat()).webp({ quality: 80 }).toFile(file('scallion-noodles/pictures/heat.webp'));
await sharp(latency()).png({ palette: true }).toFile(file('release-2-4/pictures/latency.png'));
await sharp(filters()).webp({ quality: 82 }).toFile(file('release-2-4/pictures/filters.webp'));
