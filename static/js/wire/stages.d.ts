// The graph after each pass, what the pass did, and where nodes come from.

export interface Stage {
  stage: number;
  name: string;
  words: string;
  changed: boolean;
  graph_stage: number;
  seconds: number;
  verify_seconds: number;
  n_nodes: number;
  n_constants: number;
  constant_bytes: number;
  value_bytes: number;
  n_applied: number;
  n_declined: number;
}


export interface GraphNode {
  id: string;
  kind: "input" | "node" | "result";
  name: string;
  op: string;
  family: string;
  outputs: string[];
  types: string[];
  inputs: string[];
  attrs: Record<string, string>;
  origins: string[];
  regions: Record<string, Region>;
}

export type Edge = [from: string, to: string, operand: number, value: string];

export interface GraphConstant {
  name: string;
  type: string;
  storage: string;
  text: string;
  bytes: number;
  stored_bytes: number;
  origins: string[];
  readers: string[];
}

export interface Region {
  nodes: GraphNode[];
  edges: Edge[];
  constants: GraphConstant[];
}

export interface StageGraph extends Region {
  stage: number;
  graph_stage: number;
  name: string;
  added: string[];
  changed: string[];
  removed: string[];
}
/** Old items from start to before end, then new ones. */
export type Piece<T> = [start: number, end: number, items: T[]];
export interface StageDelta extends Omit<StageGraph, "nodes" | "edges" | "constants"> {
  against: number;
  nodes: Piece<GraphNode>[];
  edges: Piece<Edge>[];
  constants: Piece<GraphConstant>[];
}

export interface Step {
  rule: string;
  outcome: "applied" | "declined";
  because: string;
  at: string;
  took: string[];
  made: string[];
  exact: boolean;
  error: number;
  source: string;
  seconds: number;
  saves: { flops: number; bytes: number; seconds: number } | null;
}

export interface Steps {
  stage: number;
  n_steps: number;
  offset: number;
  steps: Step[];
}

export interface StageText {
  stage: number;
  graph_stage: number;
  n_lines: number;
  cut: number;
  text: string;
  spans: [number, number, string][];
}

export type DiffRow = [
  mark: " " | "-" | "+" | "…",
  before: number | null,
  after: number | null,
  text: string,
];

export interface StageDiff {
  stage: number;
  against: number;
  n_added: number;
  n_removed: number;
  cut: number;
  rows: DiffRow[];
}

export interface Chapter {
  stage: number;
  pass_name: string;
  rule: string;
  outcome: "applied" | "declined";
  at: string;
  because: string;
}

export interface Neighbour {
  maker: string;
  reader: string;
  verdict: "together" | "apart" | "not neighbours" | "gone";
  because: string;
  chapters: Chapter[];
}

export interface Neighbours {
  edges: Neighbour[];
}

export interface UnionNode {
  key: string;
  id: string;
  stages: [number, number][];
  group: string;
  width: number;
  height: number;
}
export interface UnionGroup {
  key: string;
  label: string;
  kind: "scope" | "repeat" | "block" | "stretch";
  times: number;
  group: string;
  open: boolean;
  width: number;
  height: number;
  dot: string;
}
export interface Union {
  dot: string;
  n_nodes: number;
  n_drawn: number;
  collapsed: boolean;
  nodes: UnionNode[];
  groups: UnionGroup[];
}

export interface OnnxNode {
  name: string;
  op: string;
  nodes: Record<string, string[]>;
  kernels: number[];
  buffers: number[];
  functions: string[];
}

export interface Provenance {
  onnx: OnnxNode[];
}
