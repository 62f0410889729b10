// How long the tasks of the page's main thread are, from the browser's own trace: by the clock, and in time of
// the processor, which others on the machine do not lengthen.

const CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "v8", "blink.user_timing", "__metadata"];

/** Trace a page while something is done. Times in milliseconds, each of the longest task. */
export async function longestTasks(session, work) {
  const events = [];
  const collect = ({ value }) => events.push(...value);
  session.on("Tracing.dataCollected", collect);
  const done = new Promise((complete) => session.once("Tracing.tracingComplete", complete));
  await session.send("Tracing.start", { traceConfig: { includedCategories: CATEGORIES, excludedCategories: ["*"] }, transferMode: "ReportEvents" });
  await work();
  await session.send("Tracing.end");
  await done;
  session.off("Tracing.dataCollected", collect);
  const main = new Set(
    events.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain").map(({ pid, tid }) => `${pid}:${tid}`),
  );
  const timed = events.filter(({ pid, tid, ph, tdur }) => main.has(`${pid}:${tid}`) && ph === "X" && tdur !== undefined);
  const tasks = timed.filter(({ name }) => name === "RunTask");
  if (tasks.length === 0) throw new Error("the trace has no tasks");
  const byCpu = tasks.sort((a, b) => b.tdur - a.tdur);
  const within = (task) =>
    timed.filter((event) => event !== task && event.pid === task.pid && event.tid === task.tid && event.ts >= task.ts && event.ts < task.ts + task.dur);
  return {
    clock: Math.max(...tasks.map(({ dur }) => dur)) / 1000,
    cpu: byCpu[0].tdur / 1000,
    over: tasks.filter(({ tdur }) => tdur > 50_000).length,
    /** What the longest tasks are made of, for a person who looks for the reason. */
    parts: byCpu.slice(0, 3).map((task) =>
      [task, ...within(task).filter(({ tdur }) => tdur > 2000)].map(({ name, tdur, args }) =>
        `${(tdur / 1000).toFixed(1)} ms ${name} ${JSON.stringify(args?.data ?? args?.beginData ?? {}).slice(0, 160)}`)),
  };
}
