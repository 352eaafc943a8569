/** Which addresses may be called: public ones, and those that the configuration allows. */
import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { ThroughlineError } from '../errors.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Public by its number, and yet the machine's own: Azure serves a machine's metadata and agents there. */
const METADATA: ReadonlySet<string> = new Set(['168.63.129.16']);

/** An IPv4 address that is written as IPv6 is the IPv4 address; a zone does not change a range. */
const parse = (address: string): Address => ipaddr.process(address.replace(/%.*$/, ''));

/** An address or a range as `10.0.0.0/8` or `fd00::/8`; undefined: it is neither. */
function parseRange(text: string): [Address, number] | undefined {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  // `127.1` and octal numbers are no way to write a rule.
  if (isIP(text) === 0) return undefined;
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

export const isAddressRange = (text: string): boolean => parseRange(text) !== undefined;

export type Resolve = (hostname: string, options: { readonly all: true }, done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void) => void;

/**
 * Decides after the name was resolved and before anything is sent: the connection is made to the very address that
 * was checked, so a name that changes its mind gains nothing.
 */
export class AddressPolicy {
  readonly #allowed: readonly [Address, number][];
  readonly #resolve: Resolve;

  /** `allow`: addresses and ranges that may be called although they are not public. Throws CONFIG_INVALID. */
  constructor(allow: readonly string[] = [], resolve: Resolve = systemLookup) {
    this.#allowed = allow.map((text) => {
      const range = parseRange(text);
      if (range === undefined) throw new ThroughlineError('CONFIG_INVALID', { message: `${JSON.stringify(text)} is no address or range such as 10.0.0.0/8.`, path: 'webhookAllow' });
      return range;
    });
    this.#resolve = resolve;
  }

  /** Throws ADDRESS_REFUSED, with the kind of range in `facts`. */
  check(address: string): void {
    if (!ipaddr.isValid(address.replace(/%.*$/, ''))) throw refused(address, 'unreadable');
    const parsed = parse(address);
    if (this.#allowed.some(([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits))) return;
    if (METADATA.has(parsed.toString())) throw refused(address, 'metadata');
    const range = parsed.range();
    if (range !== 'unicast') throw refused(address, range);
  }

  /** For hosts that are addresses themselves: those are never looked up. */
  checkHost(hostname: string): void {
    const host = hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0) this.check(host);
  }

  /** For `http.request`: resolves a name, and refuses it if any of its addresses may not be called. */
  readonly lookup: LookupFunction = (hostname: string, options: LookupOptions, done) => {
    this.#resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        done(error, []);
        return;
      }
      try {
        for (const { address } of addresses) this.check(address);
      } catch (refusal) {
        done(refusal as NodeJS.ErrnoException, []);
        return;
      }
      const [first] = addresses;
      if (options.all === true || first === undefined) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}

const refused = (address: string, range: string): ThroughlineError =>
  new ThroughlineError('ADDRESS_REFUSED', { message: `${address} may not be called: it is ${range === 'metadata' ? 'a metadata service' : `in the range "${range}"`}.`, facts: { address, range } });
