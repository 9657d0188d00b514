// A measured run, kernel by kernel, beside what the machine could do.

export type Unit = "f32" | "int8" | "bf16" | "int8_tiles" | "bf16_tiles";
export type Level = "L1" | "L2" | "L3" | "DRAM";

export interface Machine {
  name: string;
  features: string[];
  n_processors: number;
  is_measured: boolean;
  measured: number | null;
  peaks: { unit: Unit; flops_per_second: number; is_used: boolean }[];
  levels: { level: Level; bytes: number | null; bytes_per_second: number }[];
  call_s: number;
}

export interface RunTimes {
  median_s: number;
  min_s: number;
  low_s: number;
  high_s: number;
  slow_s: number;
  repeats: number;
}

export interface KernelTimes {
  kernel: number;
  median_s: number;
  min_s: number;
  low_s: number;
  high_s: number;
  predicted_s: number | null;
  roof_s: number | null;
  bound: "" | "compute" | Level | "overhead";
  unit: "" | Unit;
  flops: number;
  bytes: number;
  fits: Level;
  traffic: Partial<Record<Level, number>>;
  fewer_products: boolean;
  /** By ONNX node its part of the time. */
  shares: Record<string, number>;
}

export interface Profile {
  threads: number;
  seed: number;
  machine: Machine;
  run: RunTimes;
  kernels: KernelTimes[];
}

export interface ProfileOptions {
  seconds: number;
  machine: boolean;
}
