// Bundles the page's script and style, each into one file; with --tests the tests, for `node --test`.
import { readdirSync } from "node:fs";
import { build } from "esbuild";

const PAGES = {
  "../src/rocm_perf/render/page/assets": ["src/report.ts", "src/report.css"],
  "../src/rocm_perf/serve/assets": ["src/serve.ts", "src/serve.css"],
};
const shared = { bundle: true, charset: "utf8", legalComments: "inline", logLevel: "warning" };

if (process.argv.includes("--tests")) {
  const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  const entryPoints = tests.map((name) => `test/${name}`);
  await build({ ...shared, entryPoints, outdir: "built", platform: "node", format: "esm", outExtension: { ".js": ".mjs" } });
} else {
  const browsers = ["chrome100", "firefox113", "safari16.4"]; // the oldest with DecompressionStream
  for (const [outdir, entryPoints] of Object.entries(PAGES)) {
    await build({ ...shared, entryPoints, outdir, minify: true, target: browsers, format: "iife" });
  }
}
