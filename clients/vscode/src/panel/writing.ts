/** What is being written: the answer as it comes, and a way to stop it. */

import type { Words } from "../shared/messages";
import type { Job } from "../shared/protocol";
import { element } from "./dom";

export class Writing {
  private readonly title = element("span", "");
  private readonly written = element("div", "written", { tabindex: "0", role: "log", dir: "auto" });
  readonly element: HTMLElement;

  constructor(
    private readonly words: Words,
    cancel: () => void,
  ) {
    const button = element("button", "", { type: "button" }, words.cancel);
    button.addEventListener("click", cancel);
    const head = element("div", "writing-head", {}, element("span", "turning", {}), this.title, button);
    this.element = element("section", "writing", {}, head, this.written);
    this.element.hidden = true;
  }

  /** Show the job, or that there is none any more. The new title, if it is another, else null. */
  show(job: Job | null): string | null {
    const before = this.element.hidden ? null : this.written.getAttribute("aria-label");
    this.element.hidden = job === null;
    if (job === null) {
      this.written.textContent = "";
      return before === null ? null : this.words.written;
    }
    const title = this.words.writing[job.kind];
    const percent = job.percent === null || job.kind === "prompt" ? "" : ` ${job.percent}%`;
    this.title.textContent = `${title}${percent}`;
    this.written.hidden = this.written.textContent === "";
    this.written.setAttribute("aria-label", title);
    return before === title ? null : title;
  }

  add(delta: string): void {
    this.written.append(delta);
    this.written.hidden = false;
    this.written.scrollTop = this.written.scrollHeight;
  }
}
