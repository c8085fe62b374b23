// The table of contents marks the section that is being read.

export function markPlace(): void {
  const links = new Map<string, HTMLAnchorElement>();
  for (const link of document.querySelectorAll<HTMLAnchorElement>(".contents a")) links.set(link.hash.slice(1), link);
  const sections = [...links.keys()].map((id) => document.getElementById(id)).filter((each) => each !== null);
  const watcher = new IntersectionObserver(() => mark(sections, links), { rootMargin: "-80px 0px -70% 0px" });
  for (const section of sections) watcher.observe(section);
}

function mark(sections: HTMLElement[], links: Map<string, HTMLAnchorElement>): void {
  const passed = sections.filter((section) => section.getBoundingClientRect().top < innerHeight * 0.3);
  const here = passed.at(-1);
  for (const [id, link] of links) link.classList.toggle("here", id === here?.id);
}
