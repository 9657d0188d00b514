// The payloads of the server, as docs/wire.md describes them: a file by topic.
export * from "./wire/server.js";
export * from "./wire/jobs.js";
export * from "./wire/stages.js";
export * from "./wire/kernels.js";
export * from "./wire/memory.js";
export * from "./wire/placements.js";
export * from "./wire/written.js";
export * from "./wire/shared_links.js";
export * from "./wire/profiles.js";
export * from "./wire/targets.js";
export * from "./wire/schedules.js";
export * from "./wire/numerics.js";
export * from "./wire/tuning.js";
export * from "./wire/bisect.js";
export * from "./wire/exports.js";
