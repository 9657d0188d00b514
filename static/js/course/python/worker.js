// Runs Python in a worker: starts Pyodide, and judges answers with the judge of the server.
//
// The page sends `{id, request, seconds}`. The worker sends `{stage}` while it starts, `{id, started}` before it judges,
// and `{id, answer}` or `{id, problem}`. It handles one request at a time, and the page ends it after a limit.
import { loadPyodide } from "pyodide";

/**
 * @typedef {import("./stages.js").Stage} Stage
 * @typedef {{id: number, request: unknown, seconds: number}} Task
 */

/** The folder of Pyodide and of the packed Python code. */
const FOLDER = new URL("python/", self.location.href);
const PACKAGES = "/packages.zip";

const SET_UP = `
import sys, zipfile
zipfile.ZipFile("${PACKAGES}").extractall("/packages")
sys.path.insert(0, "/packages")
`;

const judge = start();
judge.catch(() => {}); // each task reports it

self.onmessage = async ({ data }) => {
  const { id, request, seconds } = /** @type {Task} */ (data);
  try {
    const judgeText = await judge;
    self.postMessage({ id, started: true });
    self.postMessage({ id, answer: JSON.parse(judgeText(JSON.stringify(request), seconds)) });
  } catch (problem) {
    self.postMessage({ id, problem: String(problem) });
  }
};

/**
 * Start Python, and import the judge.
 * @returns {Promise<(request: string, seconds: number) => string>}
 */
async function start() {
  try {
    const fetched = packages();
    fetched.catch(() => {}); // reported where it is awaited
    const python = await loadPyodide({
      indexURL: FOLDER.href,
      stdLibURL: new URL("library.zip", FOLDER).href,
      stdout: () => {},
      stderr: () => {},
    });
    report("packages");
    python.FS.writeFile(PACKAGES, await fetched);
    python.runPython(SET_UP);
    python.FS.unlink(PACKAGES);
    report("compiler");
    python.runPython("import course.exercises");
    const judgeText = python.pyimport("app.wire.in_page").judge_text;
    report("ready");
    return judgeText;
  } catch (problem) {
    self.postMessage({ failed: String(problem) });
    throw problem;
  }
}

/** @returns {Promise<Uint8Array>} */
async function packages() {
  const answer = await fetch(new URL("packages.zip", FOLDER));
  if (!answer.ok) throw new Error(`the server answered ${answer.status} for packages.zip`);
  return new Uint8Array(await answer.arrayBuffer());
}

/** @param {Stage} stage */
function report(stage) {
  self.postMessage({ stage });
}
