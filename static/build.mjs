// Bundles the page: `npm run build`. Writes static/dist, which is not kept in git.
//
// The first load of the page fetches main.js and main.css; an embedded view fetches embed.js instead, and
// saved reports contain report.js. The browser fetches worker.js, with Graphviz as WebAssembly, for the
// first graph, and reader.js for the first large answer.
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
  entryPoints: { main: "js/main.js", embed: "js/embed.js", report: "js/report.js", glossary: "js/glossary.js", worker: "js/graph/worker.js", reader: "js/server/reader.js" },
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

/** Fails the build if the first load exceeds the limit for slow connections. */
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
