import { attemptScenarios } from './attempt.ts';
import { outsideScenarios } from './outside.ts';
import { resolvingScenarios } from './resolving.ts';
import { Scenarios } from './scenario.ts';

const scenarios = new Scenarios();
attemptScenarios(scenarios);
outsideScenarios(scenarios);
resolvingScenarios(scenarios);

export const SCENARIOS = scenarios.all;
