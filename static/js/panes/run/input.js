// The form of one input of a run: random values, typed numbers, a .npy file, an image, a drawing or a sound.
import { numbersOf, toNpy } from "../../arrays/npy.js";
import { elementsOf, middleOf } from "../../arrays/pixels.js";
import { arrayType, countOf, imageShape, soundLength } from "../../arrays/types.js";
import { ofLength, readWav } from "../../arrays/wav.js";
import { clone, listen, part, partOf } from "../../elements/dom.js";
import { formatCount } from "../../text/format.js";
import { word } from "../../text/words.js";
import { mountDrawing } from "./drawing.js";

/**
 * @typedef {import("../../arrays/types.js").ArrayType} ArrayType
 * @typedef {import("../../arrays/types.js").ImageShape} ImageShape
 *
 * @typedef {object} InputForm
 * @property {string} name
 * @property {HTMLElement} element
 * @property {() => Promise<File | null>} file the values as a .npy file, null for random values; Errors: InputProblem
 */

/** A problem with the values that the user gave; the message is shown at the input. */
export class InputProblem extends Error {}

/** Maximum number of elements to type. */
const MOST_TYPED = 256;
/** Maximum side of an image that can be drawn by hand. */
const MOST_DRAWN = 64;
/** Size of the images of the digits data set, whose grey levels are 0 to 16. */
const DIGIT = 8;
const MOST_FILE_BYTES = 30_000_000;

/**
 * @param {string} name
 * @param {string} text type of the input
 * @param {(number | string)[] | undefined} dims of the compilation
 * @returns {InputForm}
 */
export function mountInput(name, text, dims) {
  const element = document.createElement("div");
  element.append(clone("run-input"));
  const type = arrayType(text, dims);
  const image = type && imageShape(type);
  const source = partOf(element, "source", HTMLSelectElement);
  const range = partOf(element, "range", HTMLSelectElement);
  const numbers = partOf(element, "numbers", HTMLTextAreaElement);
  const problem = part(element, "input-problem");
  const say = (/** @type {string} */ said) => (problem.textContent = said);
  const shown = type ? `${type.element}[${type.dims.join(",")}]` : text;
  part(element, "input-name").textContent = `${name}: ${shown}`;
  const usable = usableSources(type);
  for (const option of [...source.options]) if (!usable.has(option.value)) option.remove();
  if (image?.channels === 1) [...range.options].find(({ value }) => value === "imagenet")?.remove();
  range.value = image && image.height === DIGIT && image.width === DIGIT ? "sixteen" : "unit";
  part(element, "count").textContent = word("run.count", { n: formatCount((type && countOf(type)) ?? 0) });
  const drawing = mountDrawing(partOf(element, "drawing", HTMLCanvasElement), () => say(""));

  function show() {
    for (const each of element.querySelectorAll("[data-source]")) {
      const own = /** @type {HTMLElement} */ (each);
      own.hidden = !(own.dataset.source ?? "").split(" ").includes(source.value);
    }
    const fits = image && word(source.value === "drawing" ? "run.fits-drawing" : "run.fits-image", { ...image });
    part(element, "fits").textContent = fits ?? "";
    say("");
  }
  show();

  /** @param {string} key @returns {File} */
  function chosen(key) {
    const file = partOf(element, key, HTMLInputElement).files?.[0];
    if (!file) throw new InputProblem(word("run.no-file"));
    if (file.size > MOST_FILE_BYTES) throw new InputProblem(word("run.too-large"));
    return file;
  }

  // The listeners end with the form, whose elements are their only targets.
  listen(source, { change: show });
  listen(part(element, "clear"), { click: () => drawing.clear() });
  listen(element, { input: () => say("") });

  /** @type {Record<string, () => Promise<File | null>>} */
  const makers = {
    random: async () => null,
    file: async () => chosen("npy-file"),
    numbers: async () => {
      const known = /** @type {ArrayType} */ (type);
      const { values, bad } = numbersOf(numbers.value, known.element);
      const n = countOf(known) ?? 0;
      if (bad) throw new InputProblem(word("run.bad-number", { bad, type: known.element }));
      if (values.length !== n) throw new InputProblem(word("run.wrong-count", { n, found: values.length }));
      return npyFile(known, values);
    },
    image: async () => imageFile(chosen("image-file"), /** @type {ImageShape} */ (image)),
    drawing: async () => {
      const pixels = drawing.pixels(/** @type {ImageShape} */ (image));
      if (!pixels) throw new InputProblem(word("run.no-drawing"));
      return pixelFile(pixels, /** @type {ImageShape} */ (image));
    },
    sound: async () => {
      const read = readWav(await chosen("sound-file").arrayBuffer());
      if (!read) throw new InputProblem(word("run.no-wav"));
      const known = /** @type {ArrayType} */ (type);
      return npyFile(known, ofLength(read.samples, soundLength(known)));
    },
  };

  /** @param {ArrayType} known @param {ArrayLike<number | bigint>} values */
  function npyFile(known, values) {
    return new File([toNpy(known.element, known.dims.map(Number), values)], `${source.value}.npy`);
  }

  /** @param {Uint8ClampedArray} rgba @param {ImageShape} shape */
  function pixelFile(rgba, shape) {
    const known = /** @type {ArrayType} */ (type);
    const values = elementsOf(rgba, shape, range.value);
    return npyFile(known, /^[iu]/.test(known.element) ? values.map(Math.round) : values);
  }

  /** @param {File} file @param {ImageShape} shape */
  async function imageFile(file, shape) {
    const picture = await createImageBitmap(file).catch(() => null);
    if (!picture) throw new InputProblem(word("run.no-image"));
    const canvas = new OffscreenCanvas(shape.width, shape.height);
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.imageSmoothingQuality = "high";
    context.drawImage(picture, ...middleOf(picture, shape), 0, 0, shape.width, shape.height);
    picture.close();
    return pixelFile(context.getImageData(0, 0, shape.width, shape.height).data, shape);
  }

  return {
    name,
    element,
    async file() {
      say("");
      try {
        return await makers[source.value]();
      } catch (wrong) {
        if (wrong instanceof InputProblem) say(wrong.message);
        throw wrong;
      }
    },
  };
}

/** @param {ArrayType | null} type @returns {Set<string>} sources that can give values of a type */
function usableSources(type) {
  const found = new Set(["random"]);
  if (!type) return found;
  found.add("file");
  const [n, image] = [countOf(type), imageShape(type)];
  if (n !== null && n > 0 && n <= MOST_TYPED && type.element !== "string") found.add("numbers");
  if (image) found.add("image");
  if (image?.channels === 1 && Math.max(image.height, image.width) <= MOST_DRAWN) found.add("drawing");
  if (soundLength(type)) found.add("sound");
  return found;
}
