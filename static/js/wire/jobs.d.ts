// Jobs: what is asked for, how far it is, and the summary of what came out.
import type { Host, Problem } from "./server.js";
import type { Stage } from "./stages.js";
import type { Kernel, Running } from "./kernels.js";
import type { Memory } from "./memory.js";

export interface JobRequest {
  kind: "compile" | "inspect";
  model: { sample: string } | { upload: string };
  pipeline?: string;
  shapes?: Record<string, number[]>;
  options?: Record<string, unknown>;
  tuned?: string;
  without?: string[];
}

export type JobState = "queued" | "running" | "succeeded" | "failed" | "cancelled";

export interface Job {
  id: string;
  kind: string;
  state: JobState;
  position: number;
  phase: string;
  n_stages: number;
  error: Problem | null;
  /** `job`: the one whose result this is about. */
  request: JobRequest & { job?: string };
  model_name: string;
  seconds: number;
}

/** Finished jobs about the result of another one, the newest first. */
export interface Beside {
  jobs: Job[];
  /** The command line that writes a report with all of it, "" when there is none. */
  report: string;
}

export interface Result {
  job: string;
  state: JobState;
  complete: boolean;
  error: Problem | null;
  model: {
    name: string;
    source: string;
    id: string;
    bytes: number;
    opset: Record<string, number>;
    producer: string;
    n_nodes: number;
    n_constants: number;
    n_parameters: number;
    constant_bytes: number;
    operators: { op: string; count: number }[];
  };
  inputs: { name: string; type: string }[];
  outputs: { name: string; type: string }[];
  shapes: Record<string, { dims: number[]; assumed: boolean }>;
  pipeline: string;
  options: Record<string, unknown>;
  reproduce: string;
  versions: Record<string, string>;
  host: Host;
  timings: { phase: string; seconds: number }[];
  result_prefix: string;
  stages: Stage[];
  kernels: Kernel[];
  running: Running | null;
  memory: Memory | null;
  run: {
    median_s: number | null;
    min_s: number | null;
    low_s: number | null;
    high_s: number | null;
    repeats: number;
    threads: number;
    seed: number;
    skipped: string;
  } | null;
  check: {
    outputs: {
      name: string;
      max_abs_error: number | null;
      scale: number | null;
      relative_error: number | null;
    }[];
    seed: number;
    skipped: string;
  } | null;
  accuracy: {
    n: number;
    reference: number;
    compiled: number;
    n_agree: number;
    words: string;
  } | null;
}

export interface PassEvent {
  stage: number;
  name: string;
  seconds: number;
  changed: boolean;
  n_nodes: number;
  n_applied: number;
  n_declined: number;
}
