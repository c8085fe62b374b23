// The server's own pages: the list that follows its folders, and progress.
// What Python rendered is taken over as nodes, so that nothing is ever written as markup here.

const LIST_MS = 1000;
const JOB_MS = 400;

/** Put what the server renders now in place of what is shown, and keep what the user has chosen. */
async function follow(shown: HTMLElement): Promise<void> {
  let tag = "";
  for (;;) {
    await pause(LIST_MS);
    if (document.hidden) continue;
    const answer = await fetch(location.href, { headers: { "If-None-Match": tag }, cache: "no-store" }).catch(() => null);
    document.body.classList.toggle("gone", answer === null);
    if (answer === null || answer.status !== 200) continue;
    tag = answer.headers.get("ETag") ?? "";
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById(shown.id);
    if (fresh === null) continue;
    replaceContent(shown, fresh);
    if (!("live" in fresh.dataset)) return;
  }
}

function replaceContent(shown: HTMLElement, fresh: HTMLElement): void {
  for (const part of ["h1", "tbody", "thead", ".empty"]) {
    const before = shown.querySelector(part);
    const after = fresh.querySelector(part);
    if (before === null || after === null) {
      if (before !== after) return replaceAll(shown, fresh);
    } else if (!before.isEqualNode(after)) {
      keepChoices(shown, after);
      before.replaceWith(document.importNode(after, true));
    }
  }
  filterRuns();
}

function replaceAll(shown: HTMLElement, fresh: HTMLElement): void {
  shown.replaceChildren(...Array.from(fresh.childNodes, (node) => document.importNode(node, true)));
  listenToFilter();
}

/** Tick in the new nodes what is ticked in the old ones. */
function keepChoices(shown: HTMLElement, fresh: Element): void {
  for (const box of fresh.querySelectorAll<HTMLInputElement>("input[type=checkbox]")) {
    const same = [...shown.querySelectorAll<HTMLInputElement>(`input[name=${box.name}]`)].find((old) => old.value === box.value);
    box.toggleAttribute("checked", same?.checked ?? false);
  }
}

function filterRuns(): void {
  const wanted = document.querySelector<HTMLInputElement>("#filter")?.value.toLowerCase() ?? "";
  for (const row of document.querySelectorAll<HTMLElement>("tr.run")) {
    row.hidden = !(row.textContent ?? "").toLowerCase().includes(wanted);
  }
}

function listenToFilter(): void {
  document.querySelector("#filter")?.addEventListener("input", filterRuns);
}

/** Show how far a job is, and load the page again when it is over. */
async function awaitJob(place: HTMLElement): Promise<void> {
  const doing = place.querySelector<HTMLElement>(".doing");
  const bar = place.querySelector("progress");
  for (;;) {
    await pause(JOB_MS);
    const answer = await fetch(`${place.dataset["root"]}job/${place.dataset["job"]}`, { cache: "no-store" }).catch(() => null);
    if (answer === null) {
      if (doing) doing.textContent = "rocm-perf serve has ended.";
      return;
    }
    const job = (await answer.json()) as { over?: boolean; doing?: string; share?: number | null };
    if (job.over !== false) return location.reload();
    if (doing) doing.textContent = job.doing ?? "";
    if (bar && typeof job.share === "number") bar.value = job.share;
    else bar?.removeAttribute("value");
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const live = document.querySelector<HTMLElement>("[data-live]");
const job = document.querySelector<HTMLElement>("[data-job]");
listenToFilter();
if (live) void follow(live);
if (job) void awaitJob(job);
if (document.querySelector("[data-again]")) setTimeout(() => location.reload(), 2 * LIST_MS);
