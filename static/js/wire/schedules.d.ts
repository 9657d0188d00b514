// Schedules that are edited.
import type { Problem } from "./server.js";
import type { KernelLevels } from "./targets.js";

export interface Move {
  name: string;
  signature: string;
  words: string;
  level: "stages" | "nest";
  parameters: { name: string; kind: string; words: string; is_rest: boolean }[];
}

export interface Moves {
  characters: number;
  steps: string[];
  moves: Move[];
}

export interface NestAt {
  nest: string;
  line: number;
  loops: string[];
  tensors: string[];
}

export interface CheckedSchedule {
  problems: Problem[];
  n_moves: number;
  stages: string[];
  nests: NestAt[];
}

export interface ScheduledCode extends KernelLevels {
  n_instructions: number;
  n_spills: number | null;
  n_bytes: number;
}

export interface CallTime {
  median_s: number;
  low_s: number;
  high_s: number;
}

export interface EditedKernel {
  job: string;
  kernel: number;
  name: string;
  text: string;
  original: ScheduledCode;
  edited: ScheduledCode;
  because: string;
  outputs: { name: string; agrees: boolean; max_abs_error: number; scale: number }[];
  times: {
    rounds: number;
    noise: number;
    ratio: number;
    low: number;
    high: number;
    original: CallTime;
    edited: CallTime;
  } | null;
}
