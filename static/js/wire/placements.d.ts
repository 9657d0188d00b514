// Platforms, schedulers, and which device runs what.
import type { Problem } from "./server.js";

export interface Platform {
  name: string;
  words: string;
  home: string;
  memories: {
    name: string;
    nbytes: number | null;
    keeps_weights: boolean;
    handover_seconds: number;
  }[];
  devices: {
    name: string;
    memory: string;
    flops_per_second: number;
    bytes_per_second: number;
    seconds_per_kernel: number;
    operators: string[] | null;
  }[];
  links: {
    name: string;
    joins: string[];
    latency_seconds: number;
    bytes_per_second: number;
    channels: number;
  }[];
}

export interface Scheduler {
  name: string;
  words: string;
  source: string;
  is_quick: boolean;
}

export interface Platforms {
  platforms: Platform[];
  schedulers: Scheduler[];
}

export interface PlaceOptions {
  platform: string;
  scheduler: string;
  ahead: number | null;
}

export interface PlacementRow {
  scheduler: string;
  seconds: number;
  makespan_seconds: number | null;
  bound_seconds: number | null;
  n_moves: number;
  moved_bytes: number;
  problem: Problem | null;
}

export interface Placements {
  job: string;
  platform: string;
  n_tasks: number;
  bound_seconds: number;
  one_device_seconds: number | null;
  rows: PlacementRow[];
}

export interface Placement {
  scheduler: string;
  platform: string;
  makespan_seconds: number;
  bound_seconds: number;
  notes: string[];
  peak_bytes: Record<string, number>;
  busy_seconds: Record<string, number>;
  held_bytes: Record<string, [number, number][]>;
  tasks: {
    task: string;
    device: string;
    start: number;
    end: number;
    operators: string[];
    origins: string[];
    is_critical: boolean;
  }[];
  moves: {
    datum: string;
    link: string;
    source: string;
    to: string;
    start: number;
    end: number;
    nbytes: number;
    task: string;
    is_critical: boolean;
  }[];
}
