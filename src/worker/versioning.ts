import type { WorkerOptions } from '@temporalio/worker';

/** A build of a worker as Temporal's Worker Deployments name it. */
export interface Deployment {
  /** What is deployed: one name for all its builds. No '.'. */
  readonly name: string;
  /** This build. */
  readonly buildId: string;
  /**
   * `AUTO_UPGRADE` (default): a task's workflow goes on with the current build, and its attempts run there. `PINNED`: it
   * stays with the build that began it, whose workers must run until its tasks are at rest.
   */
  readonly behavior?: 'AUTO_UPGRADE' | 'PINNED';
}

export function versioningOptions(deployment: Deployment | undefined): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  if (deployment === undefined) return {};
  const { name, buildId, behavior = 'AUTO_UPGRADE' } = deployment;
  return { workerDeploymentOptions: { version: { deploymentName: name, buildId }, useWorkerVersioning: true, defaultVersioningBehavior: behavior } };
}
