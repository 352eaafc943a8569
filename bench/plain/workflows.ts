import { proxyActivities } from '@temporalio/workflow';
import type { step } from './activities.ts';

const activities = proxyActivities<{ step: typeof step }>({ startToCloseTimeout: '60s' });

/** Three activities, one after the other: what a user would write without Throughline. */
export async function plain(n: number): Promise<number> {
  const one = await activities.step(n);
  const two = await activities.step(one);
  return await activities.step(two);
}
