// A search for faster schedules.

export interface TuneOptions {
  budget_seconds: number;
  search: string;
  kernel: number | null;
}

export interface TunedKernel {
  name: string;
  kernels: number[];
  share: number;
  policy: string;
  schedule: string;
  untuned_s: number | null;
  tuned_s: number | null;
  kept: boolean;
  because: string;
  why_stopped: string;
}

export interface TuneTrial {
  kernel: number;
  number: number;
  outcome: "right" | "refused" | "wrong" | "failed";
  words: string;
  ratio: number | null;
  expected: number | null;
  best: number;
  schedule: string;
}

export interface Tuning {
  job: string;
  kernel: number | null;
  search: string;
  budget_seconds: number;
  searching_seconds: number;
  kernels: TunedKernel[];
  trials: TuneTrial[];
  model: {
    untuned_s: number;
    tuned_s: number;
    ratio: number | null;
    low: number | null;
    high: number | null;
    rounds: number;
  } | null;
}
