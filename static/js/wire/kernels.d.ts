// Kernels, their code at every level, and how they run.
import type { DiffRow } from "./stages.js";

export type KernelPart = "computation" | "schedule" | "loops" | "llvm" | "asm";

export interface Kernel {
  kernel: number;
  name: string;
  op: string;
  node: string;
  origins: string[];
  inside: number | null;
  region: string;
  native: boolean;
  words: string;
  function: string;
  flops: number;
  bytes_read: number;
  bytes_written: number;
  predicted_s: number | null;
  bound: "" | "compute" | "L1" | "L2" | "L3" | "DRAM" | "overhead";
  median_s: number | null;
  min_s: number | null;
  low_s: number | null;
  high_s: number | null;
  gflops: number | null;
  gbytes_per_s: number | null;
  parts: KernelPart[];
}

export interface Specialization {
  shapes: Record<string, number[]>;
  parameters: Record<string, string>;
  seconds: number;
  because: string;
}

export interface Running {
  n_native: number;
  n_inside: number;
  n_fallback: number;
  n_crossings: number;
  flops: number;
  native_flops: number;
  serves_all_sizes: boolean;
  notes: string[];
  specializations: Specialization[];
}

export interface ScheduleStep {
  words: string;
  outline: string;
}

export interface KernelText {
  kernel: number;
  part: KernelPart;
  text: string;
  n_lines: number;
  cut: number;
  steps: ScheduleStep[];
}

/** The old text is that of `against`. */
export interface KernelDiff {
  part: KernelPart;
  kernel: number;
  against: { job: string; kernel: number };
  n_added: number;
  n_removed: number;
  cut: number;
  rows: DiffRow[];
}

/** Line of the level above for each line, from 0; -1: none; empty: not known. */
export interface KernelLinks {
  kernel: number;
  llvm: number[];
  asm: number[];
}
