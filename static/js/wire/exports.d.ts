// A stage as an ONNX file.

export interface ExportedModel {
  job: string;
  stage: number;
  fused: boolean;
  file: string;
  bytes: number;
  opset: number;
  n_nodes: number;
  n_functions: number;
  objection: string;
}
