// Previews the item under the pointer in a list or chart by highlighting its nodes in the drawing.
import { listen } from "../../elements/dom.js";
import { together } from "../../state/state.js";

/**
 * @param {HTMLElement} root
 * @param {import("../../state/page.js").PageState} state
 * @param {(event: PointerEvent) => readonly string[]} originsAt ONNX nodes of the item under the pointer
 * @returns {() => void}
 */
export function mountPreview(root, state, originsAt) {
  let told = "";
  const tell = (/** @type {readonly string[]} */ origins) => {
    const key = origins.join("\n");
    if (key === told) return;
    told = key;
    state.set({ preview: [...origins] });
  };
  return together(
    listen(root, {
      pointermove: (event) => tell(originsAt(event)),
      pointerleave: () => tell([]),
    }),
    () => tell([]),
  );
}
