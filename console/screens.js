/**
 * The screens. Each is a file of its own, loaded when it is first shown. A new screen is one entry here.
 *
 * `path` is matched part by part; a part with a colon is handed to the screen as a property. A screen with `nav` stands in
 * the navigation.
 */

export const SCREENS = [
  { name: "now", path: "", title: "Now", nav: true, load: () => import("./screens/now.js") },
  { name: "jobs", path: "jobs", title: "Jobs", nav: true, load: () => import("./screens/jobs.js") },
  { name: "new", path: "new", title: "New job", load: () => import("./screens/edit.js") },
  { name: "edit", path: "jobs/:jobId/edit", title: "Edit", load: () => import("./screens/edit.js") },
  { name: "failures", path: "failures", title: "Failures", nav: true, load: () => import("./screens/failures.js") },
  { name: "job", path: "jobs/:jobId", title: "Job", load: () => import("./screens/job.js") },
  { name: "job", path: "jobs/:jobId/:tab", title: "Job", load: () => import("./screens/job.js") },
  { name: "cycle", path: "cycles/:jobId/:cycleId", title: "Pipeline", load: () => import("./screens/pipeline.js") },
  { name: "run", path: "runs/:runId", title: "Run", load: () => import("./screens/run.js") },
  { name: "settings", path: "settings", title: "Settings", nav: true, load: () => import("./screens/settings.js") },
  { name: "settings", path: "settings/:part", title: "Settings", load: () => import("./screens/settings.js") },
];

/** The screen of a path of the fragment, with what its parts name; null if there is none. */
export function screenAt(path) {
  const given = path.split("/").filter(Boolean);
  for (const screen of SCREENS) {
    const parts = screen.path.split("/").filter(Boolean);
    if (parts.length !== given.length) continue;
    const names = {};
    const matches = parts.every((part, index) => {
      const value = decoded(given[index]);
      if (part.startsWith(":")) names[part.slice(1)] = value;
      return part.startsWith(":") || part === value;
    });
    if (matches) return { screen, names };
  }
  return null;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Whether there is a screen of a name: links to one that is not there are plain text. */
export const hasScreen = (name) => SCREENS.some((screen) => screen.name === name);
