import js from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist", "node_modules", "artefacts"] },
  js.configs.recommended,
  {
    files: ["src/**/*.ts", "test/**/*.ts"],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Numbers and flags read well in a template; objects do not, and stay forbidden.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      eqeqeq: "error",
    },
  },
  {
    files: ["src/shared/**/*.ts"],
    rules: {
      "no-restricted-imports": ["error", { patterns: ["vscode", "node:*", "../host/*", "../panel/*"] }],
      // Control characters are what these patterns are about.
      "no-control-regex": "off",
    },
  },
  {
    files: ["src/panel/**/*.ts"],
    rules: { "no-restricted-imports": ["error", { patterns: ["vscode", "node:*", "../host/*"] }] },
  },
  {
    files: ["src/host/**/*.ts"],
    rules: { "no-restricted-imports": ["error", { patterns: ["../panel/*"] }] },
  },
  {
    files: ["**/*.cjs"],
    languageOptions: {
      sourceType: "commonjs",
      globals: { process: "readonly", setTimeout: "readonly", Buffer: "readonly" },
    },
  },
  {
    files: ["**/*.mjs"],
    languageOptions: {
      globals: { Event: "readonly", process: "readonly", console: "readonly", fetch: "readonly", URL: "readonly", URLSearchParams: "readonly", setTimeout: "readonly", clearTimeout: "readonly",  Buffer: "readonly", document: "readonly", window: "readonly", performance: "readonly", requestAnimationFrame: "readonly", PerformanceObserver: "readonly" },
    },
  },
);
