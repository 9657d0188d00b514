// Bundles the page: `npm run build`. Writes static/dist, which is not kept in git.
//
// main.js and main.css are what the first load needs, embed.js instead inside another page, report.js goes
// into files that are saved; worker.js carries Graphviz (WebAssembly inside the package's own module) and is
// fetched by the browser when the first graph is drawn, reader.js when the first large answer comes.
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, context } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
const FIRST_LOAD_LIMIT_BYTES = 200 * 1024;
const FIRST_LOAD = ["main.js", "main.css"];

/** @type {import("esbuild").BuildOptions} */
const options = {
  absWorkingDir: here,
  entryPoints: { main: "js/main.js", embed: "js/embed.js", report: "js/report.js", worker: "js/graph/worker.js", reader: "js/server/reader.js" },
  entryNames: "[name]",
  outdir: dist,
  bundle: true,
  format: "esm",
  target: ["es2022", "chrome111", "firefox113", "safari16.2"],
  minify: true,
  sourcemap: "linked",
  legalComments: "linked",
  logLevel: "info",
};
/** @type {import("esbuild").BuildOptions} */
const style = { ...options, entryPoints: { main: "css/main.css" }, format: undefined };

if (process.argv.includes("--watch")) {
  for (const each of [options, style]) await (await context(each)).watch();
} else {
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist, { recursive: true });
  await Promise.all([build(options), build(style)]);
  await copyFile(join(here, "images", "icon.svg"), join(dist, "icon.svg"));
  await checkFirstLoad();
}

/** Fails the build when the first load outgrows what a slow connection should carry. */
async function checkFirstLoad() {
  let total = 0;
  for (const name of FIRST_LOAD) total += gzipSync(await readFile(join(dist, name))).length;
  console.log(`first load: ${(total / 1024).toFixed(1)} kB gzip`);
  if (total > FIRST_LOAD_LIMIT_BYTES) {
    throw new Error(`the first load is ${total} bytes gzip, the limit ${FIRST_LOAD_LIMIT_BYTES}`);
  }
  await writeFile(
    join(dist, "built.json"),
    JSON.stringify({ version: 1, first_load_gzip_bytes: total }),
  );
}
