import { describe, expect, test } from '@jest/globals';
import type { LookupAddress } from 'node:dns';
import { ThroughlineError } from '../../src/errors.ts';
import { AddressPolicy } from '../../src/webhooks/address.ts';
import { checkedUrl } from '../../src/webhooks/url.ts';

const refusal = (work: () => void): unknown => {
  try {
    work();
  } catch (error) {
    return error instanceof ThroughlineError ? (error.detail.facts?.['range'] ?? error.code) : error;
  }
  return 'allowed';
};

describe('what may be called without being allowed', () => {
  const policy = new AddressPolicy();
  test.each(['93.184.215.14', '8.8.8.8', '2606:4700:4700::1111', '::ffff:8.8.8.8', '172.15.255.255', '172.32.0.0', '100.63.255.255', '100.128.0.0'])('%s: public', (address) => {
    expect(refusal(() => { policy.check(address); })).toBe('allowed');
  });

  test.each([
    '127.0.0.1', '127.255.255.254', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '0.0.0.0', '169.254.169.254', '169.254.170.2', '100.64.0.1', '100.100.100.200', '192.0.0.192',
    '198.18.0.1', '192.0.2.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', '168.63.129.16',
    '::', '::1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd00:ec2::254', 'ff02::1', '2001:db8::1', '64:ff9b::7f00:1', '2002:7f00:1::', '2001::1',
    '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:169.254.169.254', '::ffff:a00:1', 'not an address', '',
  ])('%s: refused', (address) => {
    expect(refusal(() => { policy.check(address); })).not.toBe('allowed');
  });
});

describe('what is allowed by configuration', () => {
  const policy = new AddressPolicy(['10.0.0.0/8', 'fd00::/8', '127.0.0.1']);
  test.each(['10.255.0.1', '::ffff:10.0.0.1', 'fd12::1', '127.0.0.1', '8.8.8.8'])('%s: allowed', (address) => {
    expect(refusal(() => { policy.check(address); })).toBe('allowed');
  });
  test.each(['127.0.0.2', '11.0.0.1x', '192.168.0.1', 'fe80::1', '169.254.169.254'])('%s: still refused', (address) => {
    expect(refusal(() => { policy.check(address); })).not.toBe('allowed');
  });
  test.each(['10.0.0.0/33', 'intranet', '10', '*'])('%s is no range', (range) => {
    expect(() => new AddressPolicy([range])).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});

test.each([
  ['127.0.0.1', 'https://127.0.0.1/'], ['127.0.0.1', 'https://127.1/'], ['127.0.0.1', 'https://0x7f000001/'], ['127.0.0.1', 'https://2130706433/'], ['127.0.0.1', 'https://0177.0.0.1/'],
  ['[::1]', 'https://[::1]/'], ['[::ffff:7f00:1]', 'https://[::ffff:127.0.0.1]/'],
])('a host that is an address is checked as the address that it means: %s (%s)', (hostname, url) => {
  expect(new URL(checkedUrl(url, false)).hostname).toBe(hostname);
  expect(refusal(() => { new AddressPolicy().checkHost(hostname); })).not.toBe('allowed');
});

describe('names', () => {
  const lookedUp = (addresses: LookupAddress[], all: boolean): Promise<unknown> =>
    new Promise((resolve) => {
      const policy = new AddressPolicy([], (_name, _options, done) => { done(null, addresses); });
      policy.lookup('hooks.example', { all }, (error, found, family) => { resolve(error === null ? [found, family] : (error as unknown as ThroughlineError).code); });
    });
  const [good, bad] = [{ address: '93.184.215.14', family: 4 }, { address: '127.0.0.1', family: 4 }];

  test('a public one is connected to at the address that was checked', async () => {
    expect(await lookedUp([good], false)).toEqual(['93.184.215.14', 4]);
    expect(await lookedUp([good], true)).toEqual([[good], undefined]);
  });
  test('one private address among them refuses the name', async () => {
    expect(await lookedUp([good, bad], true)).toBe('ADDRESS_REFUSED');
    expect(await lookedUp([bad], false)).toBe('ADDRESS_REFUSED');
  });
  test('an error of the resolver is passed on', async () => {
    const policy = new AddressPolicy([], (_name, _options, done) => { done(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []); });
    const code = await new Promise((resolve) => { policy.lookup('x.example', {}, (error) => { resolve(error?.code); }); });
    expect(code).toBe('ENOTFOUND');
  });
});

test.each(['http://hooks.example/', 'ftp://hooks.example/', 'https://user:pass@hooks.example/', 'https://hooks.example/#part', 'hooks.example', 'javascript:alert(1)', '', `https://hooks.example/${'x'.repeat(2_000)}`, 7])(
  '%s is no URL that may be told to',
  (url) => {
    expect(() => checkedUrl(url, false)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID', detail: expect.objectContaining({ path: '/url' }) }));
  },
);

test('http is accepted where it is asked for', () => {
  expect(checkedUrl('http://hooks.example/a?b', true)).toBe('http://hooks.example/a?b');
});
