/** Which language an Accept-Language header asks for. */

/** The first of the wanted languages that there is, by weight. */
export function languageOf(header: string | undefined): 'en' | 'zh-CN' {
  const wanted = (header ?? '')
    .split(',')
    .map((part) => {
      const [tag = '', ...options] = part.trim().toLowerCase().split(';');
      const q = Number(options.map((option) => /^\s*q=([0-9.]+)$/.exec(option)?.[1]).find((value) => value !== undefined) ?? 1);
      return { tag: tag.trim(), q: Number.isFinite(q) ? q : 0 };
    })
    .filter(({ q }) => q > 0)
    .sort((a, b) => b.q - a.q);
  const found = wanted.find(({ tag }) => /^(en|zh)(-|$)/.test(tag));
  return found?.tag.startsWith('zh') === true ? 'zh-CN' : 'en';
}
