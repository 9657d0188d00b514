// A kernel's code for several machines.

export interface TargetRow {
  target: string;
  triple: string;
  vector_bytes: number;
  n_vector_registers: number;
  seconds: number;
  because: string;
  counts: Record<string, number>;
  n_instructions: number | null;
  widest_bytes: number | null;
  n_registers: number | null;
  n_spills: number | null;
  n_bytes: number | null;
}

export interface Targets {
  job: string;
  kernel: number;
  name: string;
  classes: { name: string; words: string }[];
  rows: TargetRow[];
}

export interface KernelLevels {
  schedule: string;
  loops: string;
  llvm: string;
  asm: string;
  cut: number;
  links: { llvm: number[]; asm: number[] };
}

export interface TargetCode extends KernelLevels {
  target: string;
  kernel: number;
}
