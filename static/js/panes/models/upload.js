// Accepts a chosen or dropped ONNX file: checks the size, sends the file, and lets the server inspect it.
import { api, createParts, follow, upload } from "../../server/api.js";
import { asProblem } from "../../jobs/compile.js";
import { listen, part, partOf } from "../../elements/dom.js";
import { formatBytes, formatCount, formatPercent } from "../../text/format.js";
import { IDLE } from "../../state/page.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";

/** File names of models: ONNX files, and models written as text. */
const MODEL_FILE = /\.(onnx|pb|ir|py)$/i;

/**
 * Replace the digest of an upload by the name of the file in a problem.
 * @param {import("../../state/page.js").PageProblem} problem
 * @param {string} id
 * @param {string | undefined} name
 * @returns {import("../../state/page.js").PageProblem}
 */
export function named(problem, id, name) {
  const { where } = problem;
  return where && name && where.source.startsWith(id)
    ? { ...problem, where: { ...where, source: name } }
    : problem;
}

/**
 * @param {HTMLElement} root the start screen
 * @param {import("../../state/page.js").PageState} state
 * @returns {() => void}
 */
export function mountUpload(root, state) {
  const drop = part(root, "drop");
  const input = partOf(root, "file", HTMLInputElement);
  const name = part(root, "file-name");
  const says = part(root, "file-says");
  const [nameAtFirst, saysAtFirst] = [name.textContent, says.textContent];
  let sending = new AbortController();
  let looking = () => {};
  /** The job that inspects the file; "" if none. */
  let inspection = "";
  let gaveWay = false;

  async function take(/** @type {File | undefined} */ file) {
    if (!file) return;
    sending.abort();
    looking();
    sending = new AbortController();
    const limit = state.get().about?.limits.upload_limit_bytes ?? 64e6;
    if (file.size > limit) {
      const message = word("upload.too-large", {
        size: formatBytes(file.size),
        limit: formatBytes(limit),
      });
      const where = { source: file.name, line: 0, column: 0, length: 0, node: "" };
      return state.set({
        problem: { code: "E-UPLOAD-SIZE", message, where, hint: word("upload.too-large-hint", { name: file.name }) },
      });
    }
    const { signal } = sending;
    const progress = (/** @type {number} */ share) =>
      state.set({
        progress: {
          ...IDLE,
          state: "uploading",
          share,
          words: word("upload.sending", { name: file.name, share: formatPercent(share) }),
        },
      });
    state.set({ problem: null, inspected: null, model: "", upload: null, shapes: {} });
    progress(0);
    try {
      const sent = await upload(file, progress, signal);
      state.set({ progress: IDLE, upload: sent, model: `upload:${sent.id}` });
    } catch (problem) {
      if (!signal.aborted) state.set({ progress: IDLE, problem: asProblem(problem) });
    }
  }

  /** Take the only model among several files, and name the files that are ignored. */
  async function takeOneOf(/** @type {File[]} */ files) {
    if (files.length < 2) return take(files[0]);
    const models = files.filter(({ name }) => MODEL_FILE.test(name));
    const others = (/** @type {File[]} */ all) => all.map(({ name }) => name).join(", ");
    if (models.length !== 1)
      return state.set({
        problem: {
          code: "E-UPLOAD-SEVERAL",
          message: word("upload.several", { n: files.length, names: others(files) }),
          hint: word("upload.several-hint"),
        },
      });
    const ignored = others(files.filter((each) => each !== models[0]));
    await take(models[0]);
    if (!state.get().problem)
      state.set({
        problem: {
          code: "E-UPLOAD-SEVERAL",
          message: word("upload.ignored", { name: models[0].name, ignored }),
          hint: word("upload.ignored-hint"),
        },
      });
  }

  /** Start a job that only reads the model: its operators and open sizes, or the error. */
  async function inspect(/** @type {string} */ id) {
    looking();
    try {
      const job = await state.get().work?.submit({ kind: "inspect", model: { upload: id } });
      if (!job) return;
      inspection = job.id;
      if (isCompiling()) return giveWay();
      looking = follow(job.id, async (event, data) => {
        if (state.get().model !== `upload:${id}`) return;
        if (event === "failed" || event === "finished") inspection = "";
        if (event === "failed")
          state.set({
            problem: named(data.error, id, state.get().upload?.name),
            model: "",
            upload: null,
          });
        if (event === "finished") state.set({ inspected: await createParts(job.id).result() });
      });
    } catch (problem) {
      state.set({ problem: asProblem(problem) });
    }
  }

  const isCompiling = () => ["sending", "queued", "running"].includes(state.get().progress.state);

  /** Cancel the inspection when compilation starts: both jobs would read the model at the same time. */
  function giveWay() {
    looking();
    gaveWay ||= inspection !== "";
    if (inspection) void api.cancel(inspection).catch(() => {});
    inspection = "";
  }

  const over = (/** @type {DragEvent} */ event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    drop.toggleAttribute("data-over", true);
  };
  return together(
    () => (sending.abort(), looking()),
    listen(part(root, "choose"), { click: () => input.click() }),
    listen(input, { change: () => (void take(input.files?.[0]), (input.value = "")) }),
    // A file dropped outside the box would otherwise replace the page.
    listen(document, {
      dragover: over,
      dragleave: (event) => event.relatedTarget === null && drop.removeAttribute("data-over"),
      drop: (event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        drop.removeAttribute("data-over");
        void takeOneOf([...event.dataTransfer.files]);
      },
    }),
    state.watch(["model"], ({ model, upload: known }) => {
      if (!model.startsWith("upload:")) return;
      const id = model.slice("upload:".length);
      void inspect(id);
      if (known?.id !== id) {
        api.uploaded(id).then(
          (found) => state.set({ upload: found }),
          () =>
            state.set({
              model: "",
              problem: {
                code: "E-UPLOAD-GONE",
                message: word("upload.gone"),
                hint: word("upload.gone-hint"),
              },
            }),
        );
      }
    }),
    state.watch(["progress"], ({ model, inspected, upload: known }) => {
      if (isCompiling()) giveWay();
      else if (gaveWay && known && model === `upload:${known.id}` && !inspected) {
        gaveWay = false;
        void inspect(known.id);
      }
    }),
    state.watch(["upload", "inspected", "model"], ({ upload: known, inspected, model }) => {
      const chosen = known !== null && model === `upload:${known.id}`;
      drop.toggleAttribute("data-chosen", chosen);
      name.textContent = chosen ? known.name : nameAtFirst;
      if (!chosen) says.textContent = saysAtFirst;
      else if (!inspected)
        says.textContent = word("upload.looking", { size: formatBytes(known.bytes) });
      else {
        const { n_onnx_nodes, n_nodes, n_parameters } = inspected.model;
        const facts = {
          size: formatBytes(known.bytes),
          onnx: word("n-onnx-nodes", { n: n_onnx_nodes, count: formatCount(n_onnx_nodes) }),
          nodes: word("n-nodes", { n: n_nodes, count: formatCount(n_nodes) }),
          parameters: word("n-parameters", { n: n_parameters, count: formatCount(n_parameters) }),
        };
        says.textContent = word("upload.facts", facts);
      }
    }),
  );
}
