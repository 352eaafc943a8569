export * from './states.ts';
export * from './parent.ts';
export * from './facts.ts';
export * from './reasons.ts';
export * from './machine.ts';
export * from './categories.ts';
export * from './limits.ts';
export * from './backoff.ts';
