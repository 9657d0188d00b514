// Compresses a file of the bundle, as FILE.br and FILE.gz, which the server sends instead.
import { readFile, stat, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** The best quality, 11, takes a minute for large files and saves them little. */
const LARGE_BYTES = 4_000_000;
const LARGE_QUALITY = 9;

/**
 * Write both compressed files.
 * @param {string} path
 * @returns {Promise<number>} the number of bytes as Brotli
 */
export async function compressFile(path) {
  const isLarge = (await stat(path)).size > LARGE_BYTES;
  const quality = isLarge ? LARGE_QUALITY : constants.BROTLI_MAX_QUALITY;
  const content = await readFile(path);
  const brotli = await promisify(brotliCompress)(content, {
    params: { [constants.BROTLI_PARAM_QUALITY]: quality },
  });
  await writeFile(`${path}.br`, brotli);
  await writeFile(`${path}.gz`, await promisify(gzip)(content, { level: 9 }));
  return brotli.length;
}
