// Packs Python for the page: `npm run build:python -- [WHEEL]`. Writes static/dist/python, which is not kept in git.
//
// The folder has Pyodide, the standard library, and numpy with the compiler and the course. All Python files are
// bytecode, which Pyodide itself makes here. Without numpy's wheel for Pyodide, python.json says so and nothing else
// is written: the server then judges the exercises.
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { loadPyodide } from "pyodide";
import { compressFile } from "./compress.mjs";

const repository = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const target = join(repository, "static", "dist", "python");
const pyodide = dirname(createRequire(import.meta.url).resolve("pyodide/package.json"));
/** Files of Pyodide that the page loads as they are. */
const CORE = ["pyodide.asm.js", "pyodide.asm.wasm"];
const PACKED = ["library.zip", "packages.zip"];
const LOCK = "pyodide-lock.json";

const [wheel] = process.argv.slice(2);
await mkdir(target, { recursive: true });
if (wheel) {
  const { info } = JSON.parse(await readFile(join(pyodide, LOCK), "utf-8"));
  const lock = JSON.stringify({ info, packages: {} });
  if (lock !== (await contentOf(LOCK))) await copyCore();
  await pack(resolve(wheel));
  await writeFile(join(target, LOCK), lock); // last: its content tells that the rest is of this version
} else {
  await rm(target, { recursive: true });
  await mkdir(target);
}
await writeFile(join(target, "python.json"), JSON.stringify({ version: 1, available: Boolean(wheel) }));

async function copyCore() {
  await rm(target, { recursive: true });
  await mkdir(target);
  for (const name of CORE) {
    await copyFile(join(pyodide, name), join(target, name));
    await compressFile(join(target, name));
  }
}

/**
 * Return the text of a file of the target, or "" if there is none.
 * @param {string} name
 */
async function contentOf(name) {
  return existsSync(join(target, name)) ? readFile(join(target, name), "utf-8") : "";
}

/**
 * Write the archives of Python code. Bytecode of unchanged files comes from the previous archives.
 * @param {string} wheel
 */
async function pack(wheel) {
  const python = await loadPyodide({ indexURL: `${pyodide}/` });
  python.mountNodeFS("/repository", repository);
  python.mountNodeFS("/pyodide", pyodide);
  python.mountNodeFS("/wheel", dirname(wheel));
  python.mountNodeFS("/previous", target);
  python.runPython(await readFile(join(repository, "setup", "pyodide", "pack.py"), "utf-8"));
  /** @param {string} name */
  const previous = (name) => (existsSync(join(target, name)) ? `/previous/${name}` : "");
  const [library, packages] = PACKED;
  const { globals } = python;
  globals.get("pack_library")("/pyodide/python_stdlib.zip", `/${library}`, previous(library));
  globals.get("pack_packages")(`/wheel/${basename(wheel)}`, "/repository", `/${packages}`, previous(packages));
  for (const name of PACKED) await writeFile(join(target, name), python.FS.readFile(`/${name}`));
}
