import type { Problem } from "./server.js";

export interface CheckedText {
  problems: Problem[];
  lines: { line: number; name: string; type: string }[];
  n_nodes: number | null;
  ir: string;
}

export interface Writing {
  languages: string[];
  characters: number;
  makers: { name: string; signature: string; words: string }[];
  examples: { name: string; language: "ir" | "py"; words: string; text: string }[];
}
