// Short links to a state of the page.
import type { JobRequest } from "../wire.js";

export interface SharedLink {
  version: 1;
  id: string;
  /** "/s/ID" */
  path: string;
  /** in normal form, without ids of jobs */
  fragment: string;
  /** what the job that is compared with was asked for */
  other: JobRequest | null;
  made_with: string;
  program: string;
  /** Unix seconds */
  created: number;
}
