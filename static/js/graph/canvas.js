// A canvas that measures its size in CSS pixels, and is painted at most once per frame.

/**
 * @typedef {object} Painter
 * @property {() => void} repaint paints the canvas in the next frame
 * @property {() => import("./camera.js").Size} size
 * @property {() => void} stop
 */

/**
 * @param {HTMLCanvasElement} canvas
 * @param {(context: CanvasRenderingContext2D, size: import("./camera.js").Size) => void} paint
 * @returns {Painter}
 */
export function createPainter(canvas, paint) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  let size = { width: 0, height: 0 };
  let frame = 0;

  function run() {
    frame = 0;
    if (size.width === 0 || size.height === 0) return;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (canvas.width !== width || canvas.height !== height)
      [canvas.width, canvas.height] = [width, height];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(context, size);
  }
  const repaint = () => {
    frame ||= requestAnimationFrame(run);
  };
  const observer = new ResizeObserver(([entry]) => {
    size = { width: entry.contentRect.width, height: entry.contentRect.height };
    repaint();
  });
  observer.observe(canvas);
  document.addEventListener("themechange", repaint);
  return {
    repaint,
    size: () => size,
    stop() {
      observer.disconnect();
      document.removeEventListener("themechange", repaint);
      cancelAnimationFrame(frame);
    },
  };
}
