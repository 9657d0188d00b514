// Bundles the page: `npm run build`. Writes static/dist, which is not kept in git.
//
// The first load of the page fetches main.js, the chunks that it imports, and main.css. It fetches the chunk
// of the walk later, worker.js, with Graphviz as WebAssembly, for the first graph, and reader.js for the
// first large answer. An embedded view fetches embed.js instead, and saved reports contain report.js. The pages of the
// course fetch learn.js and learn.css, and for the first exercise the chunk of the editor and python.js, the worker
// that runs Python; build_python.mjs writes its Python code.
//
// Each file but the source maps also exists compressed, as FILE.br and FILE.gz.
import { copyFile, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";
import { compressFile } from "./compress.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
/** The folder that build_python.mjs writes. */
const PYTHON_FOLDER = "python";
/** Limit on the compressed scripts and styles of the first load. */
const FIRST_LOAD_LIMIT_BYTES = 75_000;

/** @type {import("esbuild").BuildOptions} */
const options = {
  absWorkingDir: here,
  entryPoints: { embed: "js/embed.js", report: "js/report.js", glossary: "js/glossary.js", worker: "js/graph/worker.js", reader: "js/server/reader.js" },
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
const page = { ...options, entryPoints: { main: "js/main.js" }, splitting: true, chunkNames: "chunks/[name]-[hash]", metafile: true };
/** @type {import("esbuild").BuildOptions} */
const course = { ...page, entryPoints: { learn: "js/learn.js" }, metafile: false };
/** Pyodide imports modules of Node.js where there is a Node.js. @type {import("esbuild").BuildOptions} */
const python = { ...options, entryPoints: { python: "js/course/python/worker.js" }, external: ["node:*"] };
/** @type {import("esbuild").BuildOptions} */
const style = { ...options, entryPoints: { main: "css/main.css", learn: "css/learn.css" }, format: undefined };

await removeBundle();
if (process.argv.includes("--watch")) {
  for (const each of [options, page, course, python, style]) await (await context(each)).watch();
} else {
  const [{ metafile }] = await Promise.all([build(page), build(options), build(course), build(python), build(style)]);
  await copyFile(join(here, "images", "icon.svg"), join(dist, "icon.svg"));
  const sizes = await compressAll();
  await checkFirstLoad(["main.css", ...importedBy("main.js", /** @type {import("esbuild").Metafile} */ (metafile))], sizes);
}

/** Remove the previous bundle, but not the Python code, which another script writes. */
async function removeBundle() {
  await mkdir(dist, { recursive: true });
  const names = (await readdir(dist)).filter((name) => name !== PYTHON_FOLDER);
  await Promise.all(names.map((name) => rm(join(dist, name), { recursive: true, force: true })));
}

/**
 * Compress every file of the bundle but the source maps.
 * @returns {Promise<Map<string, number>>} the number of bytes of each file as Brotli
 */
async function compressAll() {
  const names = await readdir(dist, { recursive: true, withFileTypes: true });
  const sizes = new Map();
  await Promise.all(
    names.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isFile() || path.endsWith(".map") || entry.parentPath === join(dist, PYTHON_FOLDER)) return;
      sizes.set(path.slice(dist.length + 1), await compressFile(path));
    }),
  );
  return sizes;
}

/**
 * Return a script of the bundle and the scripts that it imports before it runs.
 * @param {string} name
 * @param {import("esbuild").Metafile} metafile
 * @returns {string[]}
 */
function importedBy(name, metafile) {
  const found = new Set([`dist/${name}`]);
  for (const each of found) {
    for (const { path, kind } of metafile.outputs[each].imports) if (kind === "import-statement") found.add(path);
  }
  return [...found].map((path) => path.slice("dist/".length));
}

/**
 * Fail the build if the first load exceeds the limit for slow connections.
 * @param {string[]} names
 * @param {Map<string, number>} sizes
 */
async function checkFirstLoad(names, sizes) {
  const total = names.reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
  console.log(`first load: ${(total / 1000).toFixed(1)} kB as Brotli in ${names.length} files`);
  if (total > FIRST_LOAD_LIMIT_BYTES) {
    throw new Error(`the first load is ${total} bytes as Brotli, the limit ${FIRST_LOAD_LIMIT_BYTES}`);
  }
  await writeFile(
    join(dist, "built.json"),
    JSON.stringify({ version: 1, first_load_brotli_bytes: total }),
  );
}
