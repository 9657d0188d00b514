// Saves the stage shown as an ONNX file, which a job writes and the page downloads.
import { exportedFile, exportedModel } from "../../server/api.js";
import { childJob } from "../../jobs/child_job.js";
import { queuedWords } from "../../jobs/waiting.js";
import { asProblem } from "../../jobs/compile.js";
import { closest, el, listen, part } from "../../elements/dom.js";
import { formatBytes } from "../../text/format.js";
import { selectNode } from "../../state/selection.js";
import { together } from "../../state/state.js";
import { word } from "../../text/words.js";
import { showProblem } from "../shell/problem.js";

/** @typedef {import("../../state/page.js").PageState} PageState */

/**
 * @param {HTMLElement} root root element of the graph
 * @param {PageState} state
 * @returns {() => void}
 */
export function mountOnnx(root, state) {
  const menu = /** @type {HTMLDetailsElement} */ (part(root, "export"));
  const says = part(root, "saving");
  const choices = [...menu.querySelectorAll("[data-onnx]")].map((each) => /** @type {HTMLElement} */ (each));
  /** @type {ReturnType<typeof childJob> | null} */
  let writing = null;
  let request = 0;

  /** @param {(Node | string)[]} content @param {"" | "writing" | "written" | "refused"} what */
  function say(content, what) {
    says.hidden = content.length === 0;
    says.dataset.saving = what;
    says.replaceChildren(...content);
  }

  /** @param {string} key @param {() => void} onclick */
  const button = (key, onclick) =>
    el("button", { class: "link-button", type: "button", onclick }, word(key));
  const close = () => button("graph.dismiss", () => say([], ""));

  /** @param {boolean} fused */
  async function save(fused) {
    const { parts, work, stage } = state.get();
    if (!parts || !work) return;
    const number = ++request;
    writing?.cancel();
    const mine = childJob(
      () => work.exportStage(parts.id, stage, fused),
      (name, data) => {
        if (number !== request) return;
        if (name === "queued") busy.textContent = queuedWords(data);
        else if (name === "phase") busy.textContent = data.words;
      },
    );
    writing = mine;
    const busy = el("span", {}, word("onnx.writing"));
    const cancel = () => {
      request += 1;
      mine.cancel();
      say([], "");
      part(menu, "export-summary").focus();
    };
    say([busy, button("onnx.cancel", cancel)], "writing");
    try {
      const done = await mine.done;
      if (number !== request) return;
      if (done.state === "cancelled") return say([], "");
      const made = await exportedModel(done.id);
      if (number !== request) return;
      const link = el(
        "a",
        { class: "link-button", href: exportedFile(done.id), download: made.file, "data-part": "onnx-file" },
        made.file,
      );
      say([link, el("span", {}, factsOf(made)), close()], "written");
      link.click();
    } catch (thrown) {
      if (number === request) refuse(asProblem(thrown));
    }
  }

  /** @param {import("../../state/page.js").PageProblem} problem */
  function refuse(problem) {
    const box = el("div", { class: "problem" });
    showProblem(box, problem);
    const { graph } = state.get();
    const name = problem.where?.node;
    const node = graph?.nodes.find((each) => name && (each.name === name || each.id === name));
    const show = node ? [button("onnx.show-node", () => state.set(selectNode(node)))] : [];
    say([box, ...show, close()], "refused");
  }

  return together(
    () => {
      request += 1;
      writing?.leave();
    },
    listen(menu, {
      click: (event) => {
        const kind = closest(event, "[data-onnx]")?.dataset.onnx;
        if (!kind) return;
        menu.open = false;
        void save(kind === "functions");
      },
    }),
    state.watch(["work", "graph"], ({ work, graph }) => {
      for (const each of choices)
        each.hidden =
          !work || (each.dataset.onnx === "functions" && !graph?.nodes.some(({ op }) => op === "fusion"));
    }),
    state.watch(["parts"], () => {
      request += 1;
      say([], "");
    }),
  );
}

/** @param {import("../../wire.js").ExportedModel} made */
function factsOf({ n_nodes, n_functions, opset, bytes, objection }) {
  const facts = [
    word("onnx.nodes", { n: n_nodes }),
    ...(n_functions ? [word("onnx.functions", { n: n_functions })] : []),
    word("onnx.opset", { opset }),
    formatBytes(bytes),
  ];
  const checked = objection ? word("onnx.objects", { objection }) : word("onnx.accepts");
  return `${facts.join(", ")}. ${checked}`;
}
